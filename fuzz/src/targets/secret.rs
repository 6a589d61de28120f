//! The redactor: what it cut once it need not cut again, and it never makes a text of nothing.

use cerberus_record::clean::BUILT_IN;
use cerberus_record::clean::text::Keep;

use super::{Check, holds};

pub fn redactor() -> anyhow::Result<Check> {
    Ok(Box::new(|input| {
        let text = String::from_utf8_lossy(input);
        let once = BUILT_IN.redact(&text);
        let twice = BUILT_IN.redact(&once);
        holds(once == twice, "cutting twice is cutting once", (&once, &twice))?;
        for keep in [Keep::PROMPT, Keep::MESSAGE, Keep::COMMAND, Keep::OUTPUT, Keep::NAME, Keep::ERROR] {
            let bytes_max = keep.head_bytes + keep.tail_bytes + "\n…\n".len();
            holds(BUILT_IN.clean(&*text, keep).len() <= bytes_max, "what is kept is bounded", keep)?;
        }
        Ok(())
    }))
}
