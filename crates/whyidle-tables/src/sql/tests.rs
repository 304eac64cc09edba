//! Queries on an empty database: what they may do, and how they fail.

use super::*;

/// An answer as text.
#[derive(Default)]
struct Kept {
    names: Vec<String>,
    rows: Vec<String>,
}

impl Answer for Kept {
    fn columns(&mut self, names: &[String]) -> std::io::Result<()> {
        self.names = names.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> std::io::Result<()> {
        self.rows.push(format!("{cells:?}"));
        Ok(())
    }
}

fn ask(sql: &str, limit: Duration) -> Result<Kept, Fault> {
    let mut database = Database::private().unwrap_or_else(|error| panic!("{error}"));
    database.used(sql).map_err(|error| error.fault)?;
    let mut kept = Kept::default();
    database.query(sql, limit, &mut kept).map(|()| kept).map_err(|error| error.fault)
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn values_of_every_type_come_back() {
    let kept = ask("select 1 as a, 2.5 as b, 'x' as c, null as d, x'00ff' as e", LONG);
    let kept = kept.unwrap_or_else(|fault| panic!("{fault:?}"));
    assert_eq!(kept.names, ["a", "b", "c", "d", "e"]);
    assert_eq!(kept.rows, ["[Integer(1), Real(2.5), Text(\"x\"), Null, Blob([0, 255])]"]);
}

#[test]
fn exactly_the_tables_that_are_read_are_filled() {
    let mut database = Database::private().unwrap_or_else(|error| panic!("{error}"));
    for (sql, tables) in [
        ("select count(*) from kernels k join Ops o on o.id = k.op", &["kernels", "ops"][..]),
        // Nothing of `steps` is asked for but that it is there.
        ("select rank from traces join steps using (trace)", &["traces", "steps"]),
        ("select 1 from traces natural join steps", &["traces", "steps"]),
        (
            "with g as (select * from gaps) select 1 from g where exists (select 1 from busy)",
            &["gaps", "busy"],
        ),
        ("select (select max(t_ns) from samples), (select count(*) from stacks)", &["samples", "stacks"]),
        ("explain select * from memory", &["memory"]),
        ("-- a remark\nselect 1", &[]),
    ] {
        let used = database.used(sql).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<_> = used.iter().map(|table| table.name).collect();
        assert_eq!(names, tables, "{sql}");
    }
}

#[test]
fn whatever_does_more_than_read_is_refused() {
    for sql in [
        "insert into steps(trace) values (1)",
        "update steps set trace = 1",
        "delete from steps",
        "drop table steps",
        "create table t(a)",
        "create temp view v as select 1",
        "attach '/tmp/x.sqlite' as x",
        "attach ':memory:' as x",
        "vacuum into '/tmp/x.sqlite'",
        "pragma table_info(steps)",
        "select * from pragma_table_info('steps')",
        "begin",
        "select load_extension('/tmp/x.so')",
        "select fts3_tokenizer('simple')",
        "explain delete from steps",
    ] {
        assert_eq!(ask(sql, LONG).map(|kept| kept.rows).err(), Some(Fault::NotRead), "{sql}");
    }
}

#[test]
fn faults_are_told_apart() {
    for (sql, fault) in [
        ("select * from kernel", Fault::NoTable("kernel".to_owned())),
        ("select nme from kernels", Fault::NoColumn("nme".to_owned())),
        ("select k.nme from kernels k", Fault::NoColumn("k.nme".to_owned())),
        ("select media(1)", Fault::NoFunction("media".to_owned())),
        ("selct 1", Fault::Other),
        ("", Fault::Nothing),
        ("-- nothing", Fault::Nothing),
        ("select 1; select 2", Fault::Several),
        ("select 1; drop table steps", Fault::NotRead),
        ("select length(zeroblob(1000000000))", Fault::TooLarge),
    ] {
        assert_eq!(ask(sql, LONG).map(|kept| kept.rows).err(), Some(fault), "{sql}");
    }
}

#[test]
fn a_query_without_end_is_stopped() {
    let endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select sum(i) from n";
    assert_eq!(ask(endless, Duration::ZERO).map(|kept| kept.rows).err(), Some(Fault::TimeUp));
}

#[test]
fn a_failed_query_leaves_the_database_usable() {
    let mut database = Database::private().unwrap_or_else(|error| panic!("{error}"));
    assert!(database.used("drop table steps").is_err());
    let mut kept = Kept::default();
    let asked = database.query("select count(*) from steps", LONG, &mut kept);
    assert!(asked.is_ok());
    assert_eq!(kept.rows, ["[Integer(0)]"]);
}
