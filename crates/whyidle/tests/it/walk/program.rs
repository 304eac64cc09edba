//! The walk on a program that runs: an unmodified loop of PyTorch on the CPU, beside a GPU that is replayed. What a command
//! printed is what the history keeps of it, what the recording says, and what the pages show.

use std::fs;

use serde_json::Value;

use super::page::Page;
use super::said::{Form, Said, flat};
use super::{catalog, json, walk_history};
use crate::experiments::Place;
use crate::support::{LANGUAGES, Run, root};
use crate::torch::{again, python, turn};
use crate::watching::standin;

/// Everything is kept in one place, and measured on the same program.
struct Walk {
    place: Place,
    program: Vec<String>,
}

impl Walk {
    fn path(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    /// A command on the program, beside the replayed GPU.
    fn on_program(&self, args: &[&str]) -> Run {
        let replayed = root().join("crates/whyidle/tests/recordings/tok_heavy_workers2/nvml.csv");
        let mut command = self.place.whyidle(args);
        command.arg("--").args(&self.program);
        command.env("WHYIDLE_NVML", standin()).env("WHYIDLE_STANDIN", replayed);
        command.current_dir(self.place.path()).output().unwrap().into()
    }

    fn printed(&self, args: &[&str]) -> String {
        let run = self.place.run(args);
        assert_eq!(run.status, Some(0), "{args:?}: {}{}", run.out, run.err);
        run.out
    }

    fn kept(&self, id: &Value) -> Value {
        json(&self.printed(&["history", "show", &id.to_string(), "--format", "json"]))
    }

    fn page(&self, name: &str) -> Page {
        Page::read(&fs::read_to_string(self.path(name)).unwrap())
    }

    /// The verdict of a watch: as printed, as kept, as the recording has it, as its page shows it.
    fn watched(&self) {
        let (recording, page) = (self.path("recording"), self.path("run.html"));
        let watch = || {
            let _ = fs::remove_dir_all(&recording);
            self.on_program(&[
                "run",
                "--no-trace",
                "--for",
                "15s",
                "--stop",
                "--out",
                &recording,
                "--report",
                &page,
                "--force",
            ])
        };
        // A busy machine takes too few samples now and then.
        let said = again(watch, |said| said.status == Some(0) && said.out.contains("next "));
        let list = json(&self.printed(&["history", "--format", "json"]));
        let id = &list["entries"][0]["id"];
        let shown = self.printed(&["history", "show", &id.to_string()]);
        // The program may print a last step after it.
        assert!(said.out.contains(&shown), "printed:\n{}\nkept:\n{shown}", said.out);
        let kept = self.kept(id);
        let read = json(&self.printed(&["diagnose", &recording, "--format", "json"]));
        for member in kept.as_object().unwrap().keys() {
            assert_eq!(kept[member], read[member], "{member} of what is kept and of the recording");
        }
        for lang in LANGUAGES {
            let show = ["history", "show", &id.to_string(), "--format", "json", "--lang", lang];
            let report = json(&self.printed(&show));
            let said = Said::of_verdict(&report, &catalog(lang));
            let page = self.page("run.html");
            let mut missing = said.missing_in(&format!("page {lang}"), &page.words(lang), Form::Whole);
            missing.extend(page.fields_missing(&report, lang));
            assert!(missing.is_empty(), "{}", missing.join("\n"));
        }
        self.checked(&recording);
    }

    /// The quick look at the recording: its text says what its JSON says.
    fn checked(&self, recording: &str) {
        for lang in LANGUAGES {
            let report =
                self.place.valid(&self.printed(&["check", recording, "--format", "json", "--lang", lang]));
            let text = flat(&self.printed(&["check", recording, "--lang", lang]));
            let mut texts = Vec::new();
            super::said::texts("", &report, &mut texts);
            assert!(texts.len() > 5, "{report:#}");
            for (at, words) in texts {
                assert!(text.contains(&flat(&words)), "{at}: {words}");
            }
        }
    }

    /// An experiment as it was printed is the one that is kept; returns it.
    fn experiment(&self, args: &[&str], page: &str) -> Value {
        let path = self.path(page);
        let printed = self.on_program(&[args, &["-o", &path]].concat());
        assert_eq!(printed.status, Some(0), "{args:?}: {}{}", printed.out, printed.err);
        let list = json(&self.printed(&["history", "--format", "json"]));
        let newest = list["entries"].as_array().unwrap().iter().find(|row| row["kind"] == kind(args));
        let id = newest.unwrap()["id"].clone();
        let shown = self.printed(&["history", "show", &id.to_string()]);
        assert!(shown.starts_with(&printed.out), "printed:\n{}\nkept:\n{shown}", printed.out);
        let kept = self.kept(&id);
        let mut texts = Vec::new();
        super::said::texts("", &kept, &mut texts);
        let page = self.page(page).words("en");
        for (at, text) in texts {
            assert!(page.contains(&flat(&text)), "{at}: {text}");
        }
        kept
    }
}

fn kind(args: &[&str]) -> &'static str {
    if args[0] == "compare" { "comparison" } else { "fix" }
}

#[test]
fn one_program_has_one_story() {
    let Some(python) = python() else { return };
    let _turn = turn();
    let place = Place::new();
    fs::copy(root().join("crates/whyidle/tests/programs/feeding/limited.py"), place.path().join("train.py"))
        .unwrap();
    let program =
        [&python.display().to_string(), "train.py", "waits", "--folder", "."].map(str::to_owned).to_vec();
    let walk = Walk { place, program };
    walk.watched();
    let compared =
        walk.experiment(&["compare", "--try", "workers=4", "--pairs", "6", "--steps", "20"], "compare.html");
    let fixed = walk.experiment(
        &["fix", "--try", "workers=4", "--try", "tf32", "--steps", "20", "--patch", "fix.patch"],
        "fix.html",
    );
    // The same change under the same name, found where it stands.
    assert_eq!(compared["b"]["tries"][0], fixed["kept"][0]);
    assert_eq!(compared["b"]["tried"], fixed["applied"]);
    let patch = fs::read_to_string(walk.path("fix.patch")).unwrap();
    assert_eq!(fixed["patch"], patch.as_str());
    // What a search says of a proof is what the proof says.
    for attempt in fixed["attempts"].as_array().unwrap().iter().filter(|one| !one["comparison"].is_null()) {
        let proof = walk.kept(&attempt["comparison"]);
        assert_eq!((&attempt["effect"], &attempt["losses"]), (&proof["effect"], &proof["losses"]));
    }
    for lang in LANGUAGES {
        walk_history(&["--lang", lang], lang, |command| walk.printed(command));
    }
}
