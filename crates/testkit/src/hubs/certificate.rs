//! Certificates for one test: an authority of its own, and a server certificate for this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{program, run};

/// PEM files in a folder of the test.
#[derive(Debug)]
pub struct Certificates {
    dir: PathBuf,
}

impl Certificates {
    /// Makes an authority and a certificate for 127.0.0.1 and localhost.
    pub fn new(dir: &Path) -> Certificates {
        let made = Certificates { dir: dir.to_path_buf() };
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256"];
        let path = |name: &str| dir.join(name).display().to_string();
        std::fs::write(
            dir.join("extensions"),
            "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n",
        )
        .expect("writes into a new folder");
        made.openssl(&[
            &["req", "-x509", "-days", "30", "-subj", "/CN=Test authority", "-keyout", &path("ca.key")][..],
            &["-out", &path("ca.pem")],
            &key,
        ]);
        made.openssl(&[
            &["req", "-subj", "/CN=localhost", "-keyout", &path("server.key"), "-out", &path("server.csr")][..],
            &key,
        ]);
        made.openssl(&[
            &["x509", "-req", "-days", "30", "-in", &path("server.csr"), "-CA", &path("ca.pem"), "-CAcreateserial"][..],
            &["-CAkey", &path("ca.key"), "-out", &path("server.pem"), "-extfile", &path("extensions")],
        ]);
        made
    }

    fn openssl(&self, args: &[&[&str]]) {
        run(Command::new(program("openssl", &[])).args(args.concat()).current_dir(&self.dir));
    }

    /// The authority's certificate, for `sslrootcert`.
    pub fn authority(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    pub fn server(&self) -> PathBuf {
        self.dir.join("server.pem")
    }

    pub fn server_key(&self) -> PathBuf {
        self.dir.join("server.key")
    }
}
