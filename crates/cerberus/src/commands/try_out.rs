/// x
#[derive(clap::Args)]
pub struct Try {}
impl Try {
    pub fn run(self) -> crate::failure::Result<()> {
        Ok(())
    }
}
