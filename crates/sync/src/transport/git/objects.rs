//! What batches and documents look like as git objects: what `git fast-import` is given and `git cat-file` prints.

/// The file of a batch in its commit.
pub const BATCH: &str = "batch";
/// The file of a document in its commit.
pub const DOCUMENT: &str = "document";

/// How much one git reads.
const READ_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Nothing larger is read: a batch has at most one mebibyte, a document less.
const OBJECT_BYTES_MAX: usize = 2 * 1024 * 1024;

/// What is not fetched, if the host can leave something out: it is too large to be one of ours.
pub const FILTER: &str = "--filter=blob:limit=2097153";

/// Commits, each on the one before, each with its bytes in `file`. The same input always makes the same commits.
pub fn import_stream(parent: Option<&str>, file: &str, commits: &[(String, &[u8])]) -> Vec<u8> {
    const REFERENCE: &str = "refs/outgoing";
    let mut stream = Vec::new();
    for (index, (message, bytes)) in commits.iter().enumerate() {
        let from = match (index, parent) {
            (0, None) => String::new(),
            (0, Some(parent)) => format!("from {parent}\n"),
            _ => format!("from :{index}\n"),
        };
        let head = format!(
            "commit {REFERENCE}/commits\nmark :{}\ncommitter Cerberus <cerberus@localhost> 0 +0000\ndata {}\n{message}\n\
             {from}M 100644 inline {file}\ndata {}\n",
            index + 1,
            message.len(),
            bytes.len(),
        );
        stream.extend_from_slice(head.as_bytes());
        stream.extend_from_slice(bytes);
        stream.push(b'\n');
    }
    for mark in 1..=commits.len() {
        stream.extend_from_slice(format!("get-mark :{mark}\n").as_bytes());
    }
    stream.extend_from_slice(b"done\n");
    stream
}

/// For each line of `cat-file --batch-check=%(objectsize)`, the size of the object, if there is one that may be read.
pub fn sizes(printed: &[u8]) -> Vec<Option<usize>> {
    let printed = String::from_utf8_lossy(printed);
    printed.lines().map(|line| line.parse().ok().filter(|size| *size <= OBJECT_BYTES_MAX)).collect()
}

/// How many of these one git reads: at least one.
pub fn fitting(sizes: impl Iterator<Item = usize>) -> usize {
    let mut total = 0;
    let fits = |size: &usize| {
        total += size;
        total <= READ_BYTES_MAX
    };
    sizes.take_while(fits).count().max(1)
}

/// The contents that `cat-file --batch` printed. What is not a file, or too large, is `None`.
pub fn blobs(mut printed: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut found = Vec::new();
    while let Some(end) = printed.iter().position(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(&printed[..end]).into_owned();
        printed = &printed[end + 1..];
        let mut words = line.split(' ').skip(1);
        let (kind, size) = (words.next(), words.next().and_then(|size| size.parse::<usize>().ok()));
        let Some(bytes) = size.and_then(|size| printed.get(..size)) else {
            found.push(None);
            continue;
        };
        let is_file = kind == Some("blob") && bytes.len() <= OBJECT_BYTES_MAX;
        found.push(is_file.then(|| bytes.to_vec()));
        printed = printed.get(bytes.len() + 1..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_as_git_prints_them() {
        let printed = b"aa blob 3\na\nb\nbb missing\ncc tree 2\nxx\ndd blob 0\n\n";
        assert_eq!(blobs(printed), [Some(b"a\nb".to_vec()), None, None, Some(Vec::new())]);
        assert_eq!(blobs(b"aa blob 30\nshort"), [None]);
        let large = |bytes: usize| [format!("aa blob {bytes}\n").as_bytes(), &vec![b'x'; bytes], b"\n"].concat();
        assert!(blobs(&large(OBJECT_BYTES_MAX))[0].is_some());
        assert_eq!(blobs(&[large(OBJECT_BYTES_MAX + 1), large(1)].concat()), [None, Some(b"x".to_vec())]);
        assert_eq!(sizes(b"12\naa:batch missing\n2097152\n2097153\n"), [Some(12), None, Some(2_097_152), None]);
        assert_eq!(fitting([READ_BYTES_MAX, 0, 1].into_iter()), 2);
        assert_eq!(fitting([READ_BYTES_MAX + 1, 1].into_iter()), 1);
    }

    #[test]
    fn an_import_names_its_parents() {
        let commits: [(String, &[u8]); 2] = [("7".to_string(), b"x\n"), ("8".to_string(), b"")];
        let stream = String::from_utf8(import_stream(Some("abc"), BATCH, &commits)).unwrap();
        assert_eq!(
            stream,
            "commit refs/outgoing/commits\nmark :1\ncommitter Cerberus <cerberus@localhost> 0 +0000\ndata 1\n7\n\
             from abc\nM 100644 inline batch\ndata 2\nx\n\n\
             commit refs/outgoing/commits\nmark :2\ncommitter Cerberus <cerberus@localhost> 0 +0000\ndata 1\n8\n\
             from :1\nM 100644 inline batch\ndata 0\n\nget-mark :1\nget-mark :2\ndone\n"
        );
        assert!(!String::from_utf8(import_stream(None, BATCH, &commits)).unwrap().contains("from abc"));
    }
}
