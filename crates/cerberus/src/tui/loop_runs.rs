//! The runs of loops, for their page. A program without loops has none.

#[cfg(feature = "loop")]
pub use cerberus_loop::run::list::{LastOutput, LoopRun, last_output, runs};
#[cfg(not(feature = "loop"))]
pub use without::{LastOutput, LoopRun, last_output, runs};

#[cfg(not(feature = "loop"))]
mod without {
    use cerberus_os::home::Home;
    use cerberus_record::id::ProjectId;
    use cerberus_record::time::Timestamp;

    use crate::failure::Result;

    #[derive(Clone, Debug)]
    pub struct LoopRun {
        pub project: ProjectId,
        pub is_running: bool,
        pub state: RunState,
    }

    #[derive(Clone, Debug)]
    pub struct RunState {
        pub run: u32,
    }

    #[derive(Clone, Debug, Default)]
    pub struct LastOutput {}

    pub fn runs(_: &Home, _: Timestamp) -> Result<Vec<LoopRun>> {
        Ok(Vec::new())
    }

    pub fn last_output(_: &Home, _: &LoopRun) -> LastOutput {
        LastOutput {}
    }
}
