use std::borrow::Cow;

use proptest::prelude::*;

use super::definition::{PART_CHARS_MAX, PARTS_MAX};
use super::*;

/// Lines that begin with `»` are the changed ones; without any, the whole file changed.
fn names(language: Language, marked: &str) -> Vec<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for (number, line) in (1u32..).zip(marked.lines()) {
        if !line.starts_with('»') {
            continue;
        }
        match ranges.last_mut() {
            Some(before) if before.1 + 1 == number => before.1 = number,
            _ => ranges.push((number, number)),
        }
    }
    changed(language, &marked.replace('»', ""), &ranges)
}

#[track_caller]
fn check(language: Language, cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(names(language, source), expected, "{language:?}:\n{source}");
        let windows = source.replace('\n', "\r\n");
        assert_eq!(names(language, &windows), expected, "{language:?}, CRLF:\n{source}");
    }
}

#[test]
fn rust() {
    let file = "\
use std::fmt;

/// Where everything is kept.
#[derive(Debug)]
pub struct Store<'a, T: Clone> {
    path: &'a str,
    value: T,
}

impl<'a, T: Clone> Store<'a, T> {
    const LIMIT: usize = 3;

    /// Opens it.
    #[inline]
    pub async fn open(path: &'a str) -> Result<Self, Error> {
        fn helper() {}
        todo!()
    }
}

impl<T: Clone> fmt::Display for Store<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        Ok(())
    }
}

trait Door {
    fn knock(&self);
}

macro_rules! twice { ($x:expr) => { $x; $x } }

mod tests {
    #[test]
    fn opens() {}
}

type Short = Store<'static, u8>;
";
    let all = "Store Store.open Store.open.helper Store.fmt Door Door.knock twice opens Short";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Rust,
        &[
            (file, all),
            (&change("use std::fmt;"), ""),
            (&change("/// Where everything"), "Store"),
            (&change("#[derive(Debug)]"), "Store"),
            (&change("    value: T,"), "Store"),
            (&change("    const LIMIT"), "Store"),
            (&change("    /// Opens it."), "Store.open"),
            (&change("    #[inline]"), "Store.open"),
            (&change("        todo!()"), "Store.open"),
            (&change("        fn helper() {}"), "Store.open.helper"),
            (&change("        Ok(())"), "Store.fmt"),
            (&change("    fn knock(&self);"), "Door.knock"),
            (&change("trait Door {"), "Door"),
            (&change("    #[test]"), "opens"),
            (&change("mod tests {"), ""),
            ("»impl Marker for Unit {}\n", "Unit"),
            ("»impl<T> From<T> for &'static mut a::b::Unit<T> {\n    fn from() {}\n}\n", "Unit"),
            ("fn a() {\n    1\n»}\n\n»fn b() {\n»    2\n»}\n", "a b"),
            ("fn a() {\n    1\n}\n»\n»fn b() {\n»    2\n»}\n»\nfn c() {}\n", "b"),
            ("proptest! {\n    #[test]\n    fn holds(x in 0..3) {\n»        check(x);\n    }\n}\n", "holds"),
            ("fn a(\n    x: u8,\n) -> Vec<u8>\nwhere\n    u8: Copy,\n{\n»    1\n}\n", "a"),
            ("impl Iterator for Lines {\n»    type Item = u8;\n    fn next(\n}\n", "Lines"),
            ("//! About the file.\nfn a() {}\n", "a"),
            ("»//! About the file.\nfn a() {}\n", ""),
        ],
    );
}

#[test]
fn rust_that_is_broken() {
    check(
        Language::Rust,
        &[
            // The brace of `open` is missing.
            (
                "impl Store {\n    fn open(&self) {\n        if x {\n    }\n\n    fn close(&self) {\n»        1\n    }\n}\n\nfn after() {}\n",
                "Store.close",
            ),
            (
                "impl<'a, T: Custom>\n    Formatter<'a, T>\n{\n    fn one(&self) {\n»        let x = ;\n    }\n",
                "Formatter.one",
            ),
            (
                "impl<'a, T> Build\n    for Graph<'a, T>\n{\n    fn one(&self) {\n»        let x = ;\n    }\n",
                "Graph.one",
            ),
            ("fn ok() {\n»    let x = ;\n}\n\nfn next( {\n}\n", "ok"),
            ("pub fn one() -> {\n    <<<<<<< HEAD\n»    let = 3\n=======\n>>>>>>> x\n}\n", "one"),
            ("»    pub(crate) fn cut_off(&self) {\n»        let x =", "cut_off"),
        ],
    );
}

#[test]
fn python() {
    let file = "\
import os

class SessionContextCapture(Base):
    \"\"\"Captures.\"\"\"
    limit: int = 3

    @property
    def size(self) -> int:
        return 1

    @cached(
        seconds=5,
    )
    # why
    async def record(self, *args):
        def inner():
            return 2
        return inner

    class Inner:
        def deep(self):
            class Deeper:
                def deepest(self): pass


def main():
\tx = 1
\treturn x

LIMIT = 4
";
    let all = "SessionContextCapture SessionContextCapture.size SessionContextCapture.record \
        SessionContextCapture.record.inner SessionContextCapture.Inner SessionContextCapture.Inner.deep Inner.deep.Deeper \
        deep.Deeper.deepest main";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Python,
        &[
            (file, all),
            (&change("import os"), ""),
            (&change("LIMIT = 4"), ""),
            (&change("    limit: int"), "SessionContextCapture"),
            (&change("    @property"), "SessionContextCapture.size"),
            (&change("        seconds=5,"), "SessionContextCapture.record"),
            (&change("    # why"), "SessionContextCapture.record"),
            (&change("            return 2"), "SessionContextCapture.record.inner"),
            (&change("        return inner"), "SessionContextCapture.record"),
            (&change("\treturn x"), "main"),
            ("def a(:\n    x = 1\n\ndef b(x):\n»    return (\n", "b"),
            ("class A:\n    def f(self):\n        x = [1,\n\n    def g(self):\n»        return 1\n", "A.g"),
        ],
    );
}

#[test]
fn javascript() {
    let file = "\
import x from 'y';

export default function App({ a }) {
  const handleClick = useCallback(() => {
    a();
  }, []);
  return <div onClick={() => 1}>text</div>;
}

export class Store extends Base {
  #count = 0;
  static async open(path) {
    return 1;
  }
  get size() { return this.#count; }
  handle = (e) => {
    e.stop();
  };
}

const api = {
  base: '/',
  list() {
    return 2;
  },
  save: async (x) => x,
};

/** Adds. */
export const add = (a, b) => a + b;
const Card = React.memo(function Card() { return null; });
const LIMIT = 5;
Store.prototype.close = function () {};
exports.run = async () => {};

describe('store', () => {
  it('opens', () => {
    expect(1);
  });
});
function* gen() {}
";
    let all = "App App.handleClick Store Store.open Store.size Store.handle api.list api.save \
        add Card Store.close run gen";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::JavaScript,
        &[
            (file, all),
            (&change("import x"), ""),
            (&change("    a();"), "App.handleClick"),
            (&change("  return <div"), "App"),
            (&change("  #count = 0;"), "Store"),
            (&change("    return 1;"), "Store.open"),
            (&change("    e.stop();"), "Store.handle"),
            (&change("  base: '/',"), "api"),
            (&change("    return 2;"), "api.list"),
            (&change("/** Adds. */"), "add"),
            (&change("const LIMIT = 5;"), ""),
            (&change("    expect(1);"), ""),
            ("export default {\n  data() {\n»    return 1;\n  },\n};\n", "data"),
            ("class A {\n  one() {\n    if (x) {\n  }\n\n  two() {\n»    return 2;\n  }\n}\n", "A.two"),
            ("const f = (a) => {\n»  return a +;\n};\n", "f"),
            ("const f = ({\n  a,\n  b,\n}) => {\n»  return a + b;\n};\n", "f"),
            ("function f({\n  a,\n}) {\n»  return a;\n}\n", "f"),
        ],
    );
}

#[test]
fn typescript() {
    let file = "\
export interface Shape<T> {
  area(): number;
}
export type Id = string;
export enum Level { Low, High }
@Injectable()
export abstract class Service<T> implements Shape<T> {
  constructor(private readonly http: Http) {}
  abstract load(id: Id): Promise<T>;
  private async fetch<K>(key: K): Promise<void> {
    await 1;
  }
  get name(): string { return ''; }
  onChange = (e: Event): void => {
    e;
  };
}
export const useThing = <T,>(a: T): T => {
  return a;
};
declare function outside(x: number): void;
namespace Inner {
  export function within() {}
}
const settings = { a: 1 } as const;
export const handlers = {
  click(e: Event) {
    return e;
  },
} satisfies Handlers;
";
    let all = "Shape Id Level Service Service.constructor Service.load Service.fetch Service.name Service.onChange \
        useThing outside within handlers.click";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::TypeScript,
        &[
            (file, all),
            (&change("  area(): number;"), "Shape"),
            (&change("@Injectable()"), "Service"),
            (&change("    await 1;"), "Service.fetch"),
            (&change("    return e;"), "handlers.click"),
            (&change("const settings"), ""),
            ("»import {\n»  type Shape,\n»} from './shape';\n", ""),
            ("export const error: () => Map = () => {\n»  return 1;\n};\n", "error"),
            ("@Component({\n»  selector: 'a',\n})\nexport class Page {\n  a = 1;\n}\n", "Page"),
            ("class A<T> {\n  a(): void {\n    const x = ;\n  }\n  b(x: T): T {\n»    return x;\n  }\n}\n", "A.b"),
        ],
    );
    check(
        Language::Tsx,
        &[(
            "export const Page: FC<Props> = ({ a }) => {\n  const onOk = async () => {\n»    a();\n  };\n  return <A b={a} />;\n};\n",
            "Page.onOk",
        )],
    );
    check(
        Language::Vue,
        &[(
            "<template>\n»  <p/>\n</template>\n<script setup lang=\"ts\">\nfunction save(x: number) {\n»  x;\n}\n</script>\n",
            "save",
        )],
    );
}

#[test]
fn go() {
    let file = "\
package main

import \"fmt\"

// Supervisor supervises.
type Supervisor[T any] struct {
	name string
}

type Id = string

type Door interface {
	Knock() error
}

// Process processes.
func (s *Supervisor[T]) Process(ctx context.Context) error {
	go func() {
		fmt.Println(1)
	}()
	return nil
}

func (Id) Plain() {}

func Map[K comparable](k K) K {
	return k
}

var limit = 3
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Go,
        &[
            (file, "Supervisor Id Door Supervisor.Process Id.Plain Map"),
            (&change("import \"fmt\""), ""),
            (&change("// Supervisor supervises."), "Supervisor"),
            (&change("	name string"), "Supervisor"),
            (&change("	Knock() error"), "Door"),
            (&change("		fmt.Println(1)"), "Supervisor.Process"),
            (&change("	return k"), "Map"),
            (&change("var limit"), ""),
            ("package a\n\nfunc (s *S) One() {\n	if x {\n}\n\nfunc (s *S) Two() {\n»	return\n}\n", "S.Two"),
        ],
    );
}

#[test]
fn java() {
    let file = "\
package a;

import java.util.*;

/** A store. */
@Component
public class Store<T extends Comparable<T>> implements Door {
    private int count = 0;

    public Store(int count) {
        this.count = count;
    }

    @Override
    public synchronized <R> List<R> open(String path) throws IOException {
        return null;
    }

    static class Inner {
        void run() {
            go();
        }
    }

    enum Level { LOW, HIGH }
}

interface Door {
    void knock();
}

record Point(int x, int y) {}
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Java,
        &[
            (file, "Store Store.Store Store.open Store.Inner Store.Inner.run Store.Level Door Door.knock Point"),
            (&change("import java"), ""),
            (&change("@Component"), "Store"),
            (&change("    private int count"), "Store"),
            (&change("        this.count"), "Store.Store"),
            (&change("    @Override"), "Store.open"),
            (&change("    void knock();"), "Door.knock"),
            (
                "class A {\n    void one() {\n        if (x {\n    }\n\n    int two(int x) {\n»        return x;\n    }\n}\n",
                "A.two",
            ),
            ("»    public List<String> names(int x) {\n»        return foo(", "names"),
        ],
    );
}

#[test]
fn c() {
    let file = "\
#include <stdio.h>
#define LIMIT 3

/* A point. */
struct point {
    int x;
    int (*callback)(void);
};

enum level { LOW, HIGH };

static int *
make(int x, struct point *p)
{
    return 0;
}

int prototype(int x);

struct point *origin(void) {
    return make(1, 0);
}
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::C,
        &[
            (file, "point level make origin"),
            (&change("#include"), ""),
            (&change("/* A point. */"), "point"),
            (&change("    return 0;"), "make"),
            ("static int\nmake(\n    int x)\n{\n»    return x;\n}\n", "make"),
            (&change("int prototype"), ""),
            (&change("    return make(1"), "origin"),
            ("int a(void) {\n    if (x {\n}\n\nint b(int x) {\n»    return x;\n}\n", "b"),
        ],
    );
}

#[test]
fn cpp() {
    let file = "\
#pragma once
namespace app {

// A store.
template <typename T>
class Store : public Base {
public:
    Store(int x);
    ~Store() = default;
    virtual int size() const { return count; }
    bool operator==(const Store& other) const;
private:
    int count = 0;
};

template <typename T>
Store<T>::Store(int x) : count(x) {
    init();
}

struct Point { int x; };
enum class Level { Low };

auto make(int x) -> Store<int> {
    auto f = [](int y) { return y; };
    return f(x);
}

void Outer::Inner::run() {
    go();
}
}
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Cpp,
        &[
            (file, "Store Store.Store Store.~Store Store.size Point Level make Outer.Inner.run"),
            (&change("#pragma once"), ""),
            (&change("// A store."), "Store"),
            (&change("    int count = 0;"), "Store"),
            (&change("    virtual int size"), "Store.size"),
            (&change("    init();"), "Store.Store"),
            (&change("    return f(x);"), "make"),
            (&change("    go();"), "Outer.Inner.run"),
            ("class A {\n  void one() {\n    if (x {\n  }\n\n  int two(int x) {\n»    return x;\n  }\n};\n", "A.two"),
        ],
    );
}

#[test]
fn c_sharp() {
    let file = "\
using System;

namespace App.Core
{
    /// <summary>A store.</summary>
    [Serializable]
    public sealed class Store<T> : Base, IDoor where T : class
    {
        private int count;
        public int Plain { get; set; }
        public int Size => count;
        public int Computed
        {
            get { return 1; }
        }

        public Store(int count) { this.count = count; }

        [Fact]
        public async Task<int> OpenAsync(string path)
        {
            int Local() => 1;
            return await Go();
        }
    }

    public record Point(int X);
    public interface IDoor { void Knock(); }
    public enum Level { Low }
}
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::CSharp,
        &[
            (file, "Store Store.Size Store.Computed Store.Store Store.OpenAsync Point IDoor Level"),
            (&change("using System;"), ""),
            (&change("    [Serializable]"), "Store"),
            (&change("        public int Plain"), "Store"),
            (&change("            get { return 1; }"), "Store.Computed"),
            (&change("        [Fact]"), "Store.OpenAsync"),
            (&change("            return await"), "Store.OpenAsync"),
            (
                "class A\n{\n    void One()\n    {\n        if (x {\n    }\n\n    int Two(int x)\n    {\n»        return x;\n    }\n}\n",
                "A.Two",
            ),
        ],
    );
}

#[test]
fn ruby() {
    let file = "\
require 'x'

module App
  # A store.
  class Store < Base
    LIMIT = 3
    attr_reader :name

    def self.open(path)
      new(path)
    end

    def empty?
      true
    end

    class << self
      def build; end
    end

    private def name=(x)
      @name = x
    end
  end
end

def main
  1
end

class A::B
  def c
    2
  end
end
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Ruby,
        &[
            (file, "App App.Store App.Store.open App.Store.empty? App.Store.build App.Store.name= main A.B A.B.c"),
            (&change("require 'x'"), ""),
            (&change("  # A store."), "App.Store"),
            (&change("    LIMIT = 3"), "App.Store"),
            (&change("      new(path)"), "App.Store.open"),
            (&change("      @name = x"), "App.Store.name="),
            (&change("    2"), "A.B.c"),
            ("class A\n  def one\n    if x\n  end\n\n  def two(x)\n»    x\n  end\nend\n", "A.two"),
        ],
    );
}

#[test]
fn php() {
    let file = "\
<?php
namespace App;

use Foo\\Bar;

/** A store. */
#[Attr]
final class Store extends Base {
    private int $count = 0;

    public function __construct(private string $path) {}

    public static function open(string $path): self {
        return array_map(function ($x) { return $x; }, []);
    }
}

interface Door { public function knock(): void; }
trait Loud {}
enum Level: string { case Low = 'low'; }

function main() {
    return 1;
}
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Php,
        &[
            (file, "Store Store.__construct Store.open Door Loud Level main"),
            (&change("use Foo"), ""),
            (&change("/** A store. */"), "Store"),
            (&change("    private int"), "Store"),
            (&change("        return array_map"), "Store.open"),
            (&change("    return 1;"), "main"),
            ("»    public function cut(int $x)\n»    {\n»        return 1;\n»    }\n", "cut"),
        ],
    );
}

#[test]
fn bash() {
    let file = "\
#!/usr/bin/env bash
set -e

# Says.
say() { printf '%s' \"$*\"; }

function install {
  local x=1
  cat <<EOF
not() {
EOF
}
say hello
";
    let change = |line: &str| file.replace(line, &format!("»{line}"));
    check(
        Language::Bash,
        &[
            // It is not known where a here-document ends.
            (file, "say install not"),
            (&change("set -e"), ""),
            (&change("# Says."), "say"),
            (&change("  local x=1"), "install"),
            (&change("say hello"), ""),
            ("one () {\n  if x; then\n}\n\ntwo() {\n»  echo\n}\n", "two"),
        ],
    );
}

#[test]
fn other_languages() {
    let kotlin = "package a\n\nimport b\n\n/** Store. */\ndata class Store<T>(\n    val path: String,\n) : Base() {\n    private val x = 1\n\n    \
        override suspend fun <R> open(path: String): R {\n»        return x\n    }\n\n    companion object {\n        fun of() = 1\n    }\n}\n\n\
        fun String.shout(): String = uppercase()\n\n»@Test\nfun main() {\n}\n";
    let whole = kotlin.replace('»', "");
    check(Language::Kotlin, &[(kotlin, "Store.open main"), (&whole, "Store Store.open Store.of String.shout main")]);
    let swift = "import UIKit\n\n@MainActor\nfinal class Store: Base {\n    var count = 0\n\n    init(path: String) {\n        self.x = 1\n    }\n\n    \
        static func open<T>(_ path: T) async throws -> Store {\n        return 1\n    }\n}\n\nextension Store: Door {\n    func knock() {}\n»    let x = 1\n}\n\n\
        protocol Door {\n    func knock()\n}\n\nenum Level { case low }\n";
    let whole = swift.replace('»', "");
    check(
        Language::Swift,
        &[(swift, "Store"), (&whole, "Store Store.init Store.open Store.knock Door Door.knock Level")],
    );
    check(
        Language::Scala,
        &[(
            "package a\n\ncase class Point(x: Int)\n\nobject Main extends App {\n  private def run[T](x: T): Unit = {\n    1\n  }\n}\n\ntrait Door {\n  def knock(): Unit\n}\n",
            "Point Main Main.run Door Door.knock",
        )],
    );
    check(
        Language::Lua,
        &[(
            "local M = {}\n\nfunction M.open(path)\n  return 1\nend\n\nfunction M:close()\nend\n\nlocal function helper()\nend\n\nM.save = function(x)\n  return x\nend\n\nreturn M\n",
            "M.open M.close helper M.save",
        )],
    );
    check(
        Language::Elixir,
        &[(
            "defmodule App.Store do\n  @doc \"Opens.\"\n  def open(path) do\n    path\n  end\n\n  defp valid?(x), do: x\nend\n",
            "App.Store App.Store.open App.Store.valid?",
        )],
    );
    check(
        Language::Zig,
        &[(
            "const std = @import(\"std\");\n\npub const Store = struct {\n    path: []const u8,\n\n    pub fn open(self: *Store) !void {\n        return;\n    }\n};\n\nfn main() void {}\n",
            "Store Store.open main",
        )],
    );
    check(
        Language::Dart,
        &[(
            "import 'a.dart';\n\nclass Store extends Base {\n  final int x;\n\n  Store(this.x);\n\n  Future<int> open(String path) async {\n    return foo(path);\n  }\n\n  @override\n  int size() => 1;\n}\n\nvoid main() {\n  run();\n}\n",
            "Store Store.Store Store.open Store.size main",
        )],
    );
    check(
        Language::Perl,
        &[(
            "package App::Store;\nuse strict;\n\nsub open {\n    my $x = 1;\n}\n\nsub close { 1 }\n\npackage Other;\nsub run {\n}\n1;\n",
            "App.Store App.Store.open App.Store.close Other Other.run",
        )],
    );
    check(
        Language::R,
        &[(
            "library(x)\n\nopen_store <- function(path, ...) {\n  1\n}\n\nsave = function(x) x\n\nx <- 3\n",
            "open_store save",
        )],
    );
    check(
        Language::Julia,
        &[(
            "module A\n\nmutable struct Store\n    path::String\nend\n\nfunction open(s::Store)\n    1\nend\n\narea(x) = x^2\n\nend\n",
            "Store open area",
        )],
    );
    let sql = "-- Users.\nCREATE TABLE IF NOT EXISTS app.users (\n»  id int\n);\n\n»insert into users values (1);\n\ncreate or replace function total(x int)\nreturns int as $$\nbegin\n  return x;\nend;\n$$ language plpgsql;\n\n\
        create view open_orders as select 1;\n";
    let whole = sql.replace('»', "");
    check(Language::Sql, &[(sql, "app.users"), (&whole, "app.users total open_orders")]);
}

#[test]
fn ranges_may_be_anything() {
    let source = "fn a() {\n    1\n}\n\nfn b() {\n    2\n}\n";
    for (ranges, expected) in [
        (&[(2, 2)][..], "a"),
        (&[(0, 0)], ""),
        (&[(0, 1)], "a"),
        (&[(4, 4)], ""),
        (&[(1, u32::MAX)], "a b"),
        (&[(6, 6), (2, 2)], "a b"),
        (&[(100, 200)], ""),
        // Deleted between two lines.
        (&[(3, 2)], "a"),
        (&[(5, 4)], ""),
        (&[(u32::MAX, 0)], ""),
    ] {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(changed(Language::Rust, source, ranges), expected, "{ranges:?}");
    }
}

#[test]
fn too_many_names_keep_the_top_level() {
    let mut source = String::new();
    for class in 0..40 {
        source.push_str(&format!("class C{class}:\n    def m(self): pass\n\n"));
    }
    let found = changed(Language::Python, &source, &[]);
    assert_eq!(found.len(), NAMES_MAX);
    assert_eq!(found.iter().filter(|name| !name.contains('.')).count(), 40);
    assert_eq!(found[..3], ["C0", "C0.m", "C1"]);
}

#[test]
fn long_lines_and_large_sources_are_read() {
    let mut source = "fn first() {\n    [".to_string();
    source.push_str(&"1,".repeat(400_000));
    source.push_str("];\n}\n\nfn last() {\n    2\n}\n");
    assert_eq!(changed(Language::Rust, &source, &[(6, 6)]), ["last"]);
    let large = format!("fn first() {{\n    \"{}\"\n}}\n\nfn last() {{\n    2\n}}\n", "x".repeat(1 << 20));
    assert_eq!(changed(Language::Rust, &large, &[]), ["first", "last"]);
}

#[test]
fn broken_files_give_the_names_that_can_be_found() {
    for (language, fragment, expected) in [
        (Language::Rust, "    pub fn open(&self) -> Result<()> {\n        let x =", "open"),
        (
            Language::Rust,
            "        x\n    }\n\n    async fn close() {}\n}\n\nimpl Foo {\n    fn a() {}\n}",
            "close Foo.a",
        ),
        (Language::Python, "        return 1\n\n    async def record(self):\n        pass", "record"),
        (Language::TypeScript, "  async record(x: string): Promise<void> {\n    await x;\n  }", "record"),
        (Language::JavaScript, "    });\n  }\n\n  render(a) {\n    return a;", "render"),
        (Language::JavaScript, "  if (x) {\n    foo(() => {\n    });\n  }\n  while (y) {\n  }", ""),
        (Language::Go, "	return nil\n}\n\nfunc (s *Supervisor) Process() error {\n	x", "Supervisor.Process"),
        (Language::Java, "    @Override\n    public int size() {\n        return 1;\n    }", "size"),
        (Language::Php, "    public function open() {\n        return 1;\n    }\n", "open"),
        (Language::Cpp, "int Store::open(int x) {\n  return", "Store.open"),
    ] {
        let expected: Vec<&str> = expected.split_whitespace().collect();
        assert_eq!(changed(language, fragment, &[]), expected, "{language:?}:\n{fragment}");
    }
}

fn is_fit(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    parts.len() <= PARTS_MAX
        && parts.iter().all(|part| !part.is_empty() && part.chars().count() <= PART_CHARS_MAX + 1)
        && matches!(cerberus_record::clean::text::name(name), Cow::Borrowed(_))
        && !name.contains(char::is_whitespace)
}

fn any_language() -> impl Strategy<Value = Language> {
    proptest::sample::select(&Language::ALL[..])
}

const PIECES: &str = "fn |def |class |func |function |impl |struct |const |x|Größe|a::b|<T>|(|)|{|}|[|=|=>|:|;|,|.|\n|\n    |\r\n\t|\
    end|\"|'|`|\"\"\"|/*|*/|//|#|@|$$|create table |\u{202e}|\0|\u{feff}|日|<?php|<script>|</script>|<-|sub |package |*|&|\
    operator | for |if |~|-|?|!|#[|\\";

/// Pieces of code in random order: they resemble code more often than arbitrary text does.
fn any_source() -> impl Strategy<Value = String> {
    let pieces: Vec<&str> = PIECES.split('|').collect();
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(pieces), 0..120).prop_map(|pieces| pieces.concat()),
        "\\PC{0,200}",
        "[\\x00-\\x7f\u{202a}-\u{202e}]{0,300}",
    ]
}

proptest! {
    #[test]
    fn never_fails_and_stays_within_bounds(
        language in any_language(),
        source in any_source(),
        ranges in proptest::collection::vec((0u32..40, prop_oneof![0u32..40, Just(u32::MAX)]), 0..4),
    ) {
        let found = changed(language, &source, &ranges);
        let whole = changed(language, &source, &[]);
        for name in found.iter().chain(&whole) {
            prop_assert!(is_fit(name), "{name:?}");
        }
        for names in [&found, &whole] {
            prop_assert!(names.len() <= NAMES_MAX);
            prop_assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), names.len());
        }
    }
}
