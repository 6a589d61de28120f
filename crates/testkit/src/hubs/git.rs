//! Git repositories for one test, served as files, over HTTP by `git http-backend`, and over ssh by a real `sshd`.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use super::{free_port, program, run, scratch, wait_for_port};
use crate::need;
use crate::process::Running;
use crate::scratch::SYSTEM_PATH;

/// A folder with bare repositories.
#[derive(Debug)]
pub struct Repositories {
    dir: TempDir,
}

impl Repositories {
    /// With one repository, `app.git`.
    pub fn new() -> Repositories {
        let repositories = Repositories { dir: scratch("git") };
        repositories.git(&["init", "--quiet", "--bare", "app.git"]);
        repositories.git(&["--git-dir=app.git", "config", "http.receivepack", "true"]);
        repositories
    }

    pub fn dir(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the folder is there")
    }

    /// Git on the side of the host, without a user's configuration.
    pub fn git(&self, args: &[&str]) -> String {
        run(clean(&mut Command::new("git")).args(args).current_dir(self.dir.path()).env("HOME", self.dir.path()))
    }

    /// The address of the hub as a file.
    pub fn file(&self) -> String {
        format!("git+file://{}/app.git", self.dir().display())
    }
}

impl Default for Repositories {
    fn default() -> Self {
        Self::new()
    }
}

fn clean(command: &mut Command) -> &mut Command {
    command.env_clear().env("PATH", SYSTEM_PATH).env("GIT_CONFIG_NOSYSTEM", "1")
}

/// An HTTP server in front of `git http-backend`; it stops when dropped.
#[derive(Debug)]
pub struct GitHttp {
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl GitHttp {
    /// Serves the repositories. With `login` (`USER:PASSWORD` in Base64), requests without it are refused.
    pub fn start(repositories: &Repositories, login: Option<&str>) -> GitHttp {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (has_ended, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let server = GitHttp { address, has_ended: has_ended.clone(), requests: requests.clone() };
        let (root, login) = (repositories.dir(), login.map(|login| format!("Basic {login}")));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if has_ended.load(Ordering::SeqCst) {
                    break;
                }
                let (root, login, requests) = (root.clone(), login.clone(), requests.clone());
                // A client that goes away is not the server's problem.
                std::thread::spawn(move || answer_all(&stream, &root, login.as_deref(), &requests).is_ok());
            }
        });
        server
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address of the hub.
    pub fn hub(&self) -> String {
        format!("git+http://127.0.0.1:{}/app.git", self.port())
    }

    /// Method and target of every request so far.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for GitHttp {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// Answers requests as a CGI server does, until the client closes the connection.
fn answer_all(stream: &TcpStream, root: &Path, login: Option<&str>, requests: &Mutex<Vec<String>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream.try_clone()?), stream.try_clone()?);
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            match line.trim_end() {
                "" => break,
                text => lines.push(text.to_string()),
            }
        }
        answer(&lines, &mut reader, &mut writer, root, login, requests)?;
    }
}

fn answer(
    lines: &[String],
    reader: &mut impl BufRead,
    writer: &mut impl Write,
    root: &Path,
    login: Option<&str>,
    requests: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let start = lines.first().cloned().unwrap_or_default();
    let mut words = start.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    requests.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{method} {target}"));
    let header = |name: &str| {
        let find = |line: &String| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_string())
        };
        lines.iter().find_map(find)
    };
    if header("expect").is_some() {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = if header("transfer-encoding").is_some() {
        chunks(reader)?
    } else {
        let length = header("content-length").and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
        let mut body = Vec::new();
        reader.by_ref().take(length).read_to_end(&mut body)?;
        body
    };
    if login.is_some() && header("authorization").as_deref() != login {
        return writer.write_all(
            b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic realm=\"git\"\r\ncontent-length: 0\r\n\r\n",
        );
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut command = Command::new("git");
    clean(&mut command).arg("http-backend").env("HOME", root).env("GIT_PROJECT_ROOT", root);
    command.envs([
        ("GIT_HTTP_EXPORT_ALL", "1"),
        ("REQUEST_METHOD", method),
        ("PATH_INFO", path),
        ("QUERY_STRING", query),
    ]);
    command.env("CONTENT_LENGTH", body.len().to_string()).env("REMOTE_ADDR", "127.0.0.1");
    for (name, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        command.envs(header(name).map(|value| (variable, value)));
    }
    let printed = backend(&mut command, body)?;
    let end = printed.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(printed.len());
    let head = String::from_utf8_lossy(&printed[..end]).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_string();
    let body = printed.get(end + 4..).unwrap_or_default();
    let mut answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    let is_kept = |line: &&str| !line.starts_with("Status:") && !line.to_lowercase().starts_with("content-length:");
    head.lines().filter(is_kept).for_each(|line| answer.push_str(&format!("{line}\r\n")));
    writer.write_all(&[answer.as_bytes(), b"\r\n", body].concat())
}

fn backend(command: &mut Command, body: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let stdin = child.stdin.take();
    // It answers while it reads.
    let writer = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&body)));
    let mut printed = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut printed)?;
    }
    let _ = writer.join();
    child.wait()?;
    Ok(printed)
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        reader.by_ref().take(size).read_to_end(&mut body)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// A real `sshd` on loopback that lets one key in; it stops when dropped.
#[derive(Debug)]
pub struct GitSsh {
    _running: Running,
    port: u16,
    dir: TempDir,
}

impl GitSsh {
    /// Whether this machine can start one; if not, the caller leaves its test out.
    pub fn is_here() -> bool {
        need::has(&["sshd", "ssh", "ssh-keygen"])
    }

    pub fn start() -> GitSsh {
        let dir = scratch("ssh");
        let path = |name: &str| dir.path().join(name);
        for name in ["host_key", "key"] {
            run(Command::new(program("ssh-keygen", &[])).args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path(name)));
        }
        std::fs::copy(path("key.pub"), path("authorized_keys")).expect("copies a key of the test");
        let port = free_port();
        let host_key = std::fs::read_to_string(path("host_key.pub")).expect("reads a key of the test");
        std::fs::write(path("known_hosts"), format!("[127.0.0.1]:{port} {host_key}")).expect("writes a file");
        let settings = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {0}/host_key\nAuthorizedKeysFile {0}/authorized_keys\n\
             PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
             PermitRootLogin prohibit-password\nX11Forwarding no\n",
            dir.path().display()
        );
        std::fs::write(path("sshd_config"), settings).expect("writes a file");
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("changes its own folder");
        if rustix::process::geteuid().is_root() {
            // The folder that sshd gives up its privileges in.
            std::fs::create_dir_all("/run/sshd").expect("root may make it");
        }
        let mut command = Command::new(program("sshd", &[]));
        let running =
            Running::spawn(command.args(["-D", "-e", "-f"]).arg(path("sshd_config"))).expect("sshd is started");
        wait_for_port(port).expect("sshd starts");
        GitSsh { _running: running, port, dir }
    }

    /// The address of a repository's hub, for the user who runs the test.
    pub fn hub(&self, repositories: &Repositories) -> String {
        let user = run(Command::new("id").args(["--user", "--name"]));
        format!("git+ssh://{}@127.0.0.1:{}{}/app.git", user.trim(), self.port, repositories.dir().display())
    }

    /// What to set as `GIT_SSH_COMMAND`: ssh finds no user's files.
    pub fn command(&self) -> String {
        let dir = self.dir.path().display();
        format!("ssh -F none -i {dir}/key -o IdentitiesOnly=yes -o UserKnownHostsFile={dir}/known_hosts")
    }

    /// The same with a key that is not let in.
    pub fn wrong_command(&self) -> String {
        self.command().replace("/key -o", "/host_key -o")
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}
