//! One message per line. A line that is longer than 16 MiB or is not JSON is skipped.

use std::io::{self, BufRead, Write};

use serde_json::Value;

const LINE_BYTES_MAX: usize = 16 << 20;

pub struct Lines<R> {
    input: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R) -> Lines<R> {
        Lines { input, line: Vec::new() }
    }

    /// The next message; `None` at the end. What follows a value in the same line makes it `null`, which is no message.
    pub fn next(&mut self) -> io::Result<Option<Value>> {
        while self.read_line()? {
            let mut values = serde_json::Deserializer::from_slice(&self.line).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                return Ok(Some(if values.next().is_none() { value } else { Value::Null }));
            }
        }
        Ok(None)
    }

    /// Reads a line, or an empty one in place of a line that is too long.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut any = false;
        let mut too_long = false;
        loop {
            let bytes = self.input.fill_buf()?;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            any |= !bytes.is_empty();
            too_long |= self.line.len() + part.len() > LINE_BYTES_MAX;
            match too_long {
                true => self.line.clear(),
                false => self.line.extend_from_slice(part),
            }
            let is_end = end.is_some() || bytes.is_empty();
            let read = part.len() + usize::from(end.is_some());
            self.input.consume(read);
            if is_end {
                return Ok(any);
            }
        }
    }
}

pub fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(input: &[u8]) -> Vec<Value> {
        let mut lines = Lines::new(input);
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    #[test]
    fn what_is_no_message_is_skipped() {
        assert_eq!(
            messages(b"\n  \nword\n{\"a\":\n1\n{}{}\n{} x\n{\"b\":2}"),
            [json!(1), Value::Null, Value::Null, json!({"b": 2})]
        );
        assert_eq!(messages(b""), [] as [Value; 0]);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_whole() {
        let mut input = vec![b'"'];
        input.resize(LINE_BYTES_MAX, b'x');
        input.extend_from_slice(b"\"\n2\n\"");
        input.resize(input.len() + LINE_BYTES_MAX - 2, b'y');
        input.extend_from_slice(b"\"\n3");
        let found = messages(&input);
        assert_eq!((found.len(), &found[0], &found[2]), (3, &json!(2), &json!(3)));
    }
}
