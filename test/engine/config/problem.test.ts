/** Formats of problems for a person, a program and a pull request. */
import { resolve } from 'node:path'
import t from 'tap'
import {
  defineProblems,
  format,
  type Problem,
  ProblemsError,
  sortProblems,
} from '../../../engine/config/problem.ts'

const problem = defineProblems({ UNKNOWN_KEY: 'unknown key %j', ODD: 'odd', ODD_ONE: 'odd %d' })
const TEXT = 'upstreams:\n  gp:\n    retrys: 3\n'
const texts = new Map([['routes.yaml', TEXT]])
const typo = problem(
  'UNKNOWN_KEY',
  { file: 'routes.yaml', line: 3, column: 5, length: 6 },
  ['retrys'],
  'retries',
)
const many = (count: number): Problem[] =>
  Array.from({ length: count }, (_, index) =>
    problem('ODD_ONE', { file: 'routes.yaml', line: count - index, column: 1 }, [index]),
  )

t.test('pretty: place, code, message, suggestion, code frame and caret', async t => {
  t.equal(
    format([typo], texts, 'pretty'),
    [
      'routes.yaml:3:5  UNKNOWN_KEY  unknown key "retrys"; did you mean "retries"?',
      '  2 |   gp:',
      '  3 |     retrys: 3',
      '    |     ^^^^^^',
    ].join('\n'),
  )
})

t.test('pretty: frames a first line, a place after the end and an unknown text', async t => {
  const at = (line: number, column: number) => problem('ODD', { file: 'routes.yaml', line, column })
  t.equal(
    format([at(1, 1)], texts, 'pretty'),
    'routes.yaml:1:1  ODD  odd\n  1 | upstreams:\n    | ^',
  )
  t.equal(format([at(99, 1)], texts, 'pretty'), 'routes.yaml:99:1  ODD  odd')
  t.equal(format([at(1, 1)], new Map(), 'pretty'), 'routes.yaml:1:1  ODD  odd')
  t.match(format([at(4, 1)], texts, 'pretty'), /4 \| \n {4}\| \^$/, 'an empty last line')
})

t.test('pretty: the caret is below its text', async t => {
  const carets = (line: string, word: string) => {
    const column = line.indexOf(word) + 1
    const place = { file: 'f', line: 1, column, length: word.length }
    const [, sourceLine, caret] = format(
      [problem('ODD', place)],
      new Map([['f', line]]),
      'pretty',
    ).split('\n')
    return { sourceLine, from: caret?.indexOf('^'), count: caret?.split('^').length }
  }
  t.same(carets('\ta: bad', 'bad'), { sourceLine: '  1 |  a: bad', from: 10, count: 4 }, 'tabs')
  t.equal(carets('中文: bad', 'bad').from, 6 + 6, 'wide glyphs fill two cells')
  t.equal(carets('🚀: bad', 'bad').from, 6 + 4, 'emoji fill two cells')
  const long = carets(`${'x'.repeat(5000)}bad${'y'.repeat(5000)}`, 'bad')
  t.equal(
    long.sourceLine?.slice(long.from, (long.from ?? 0) + 3),
    'bad',
    'a long line is cut around it',
  )
  t.ok((long.sourceLine?.length ?? 0) < 140)
  const place = { file: 'f', line: 1, column: 1, length: 500 }
  const text = format([problem('ODD', place)], new Map([['f', 'abc']]), 'pretty')
  t.match(text, /\| \^\^\^$/, 'the carets end with the line')
})

t.test('pretty: control characters are replaced', async t => {
  const hostile = new Map([['f', 'a: \u001b[2Jgone\u0007']])
  const text = format(
    [problem('UNKNOWN_KEY', { file: 'f', line: 1, column: 4 }, ['x'])],
    hostile,
    'pretty',
  )
  t.notMatch(text, /[\u0000-\u0009\u000b-\u001f]/)
})

t.test('pretty: CRLF and CR files are framed like any other', async t => {
  for (const end of ['\r\n', '\r'])
    t.match(
      format([typo], new Map([['routes.yaml', TEXT.replaceAll('\n', end)]]), 'pretty'),
      / 3 \| {5}retrys: 3\n/,
    )
})

t.test('pretty: shows 20 problems and counts the rest', async t => {
  t.equal(format(many(20), texts, 'pretty').match(/ODD/g)?.length, 20)
  t.notMatch(format(many(20), texts, 'pretty'), /more/)
  const text = format(many(57), texts, 'pretty')
  t.equal(text.match(/ODD/g)?.length, 20)
  t.match(text, /\n\nand 37 more problems$/)
  t.match(format(many(21), texts, 'pretty'), /\n\nand 1 more problem$/)
  t.equal(format(many(57), texts, 'github').split('\n').length, 21)
  const json = JSON.parse(format(many(57), texts, 'json'))
  t.equal(json.problems.length, 57, 'JSON has all problems')
  t.equal(json.total, 57)
  t.equal(format(many(57), texts, 'pretty', { limit: 100 }).match(/ODD/g)?.length, 57)
})

t.test('pretty: equal problems are shown once, with their further places', async t => {
  const at = (line: number) => problem('ODD', { file: 'routes.yaml', line, column: 1 })
  const places = (count: number) => Array.from({ length: count }, (_, index) => at(index + 1))
  t.match(
    format([...places(2), typo], texts, 'pretty'),
    /^routes.yaml:3:5 {2}UNKNOWN_KEY .*\n(?:.*\n)*\nroutes.yaml:1:1 {2}ODD {2}odd\n.*\n.*\n {2}the same at routes.yaml:2:1$/,
  )
  const text = format([...places(30), ...many(20)], texts, 'pretty')
  t.match(text, /the same at routes.yaml:2:1, routes.yaml:3:1, routes.yaml:4:1 and 26 more\n/)
  t.match(text, /\n\nand 1 more problem$/, 'grouped problems are not counted again')
  t.equal(JSON.parse(format(places(30), texts, 'json')).problems.length, 30)
})

t.test('problems: causes are sorted first, then the main file', async t => {
  const problemAt = (code: string, file: string, line = 1) => ({
    code,
    file,
    line,
    column: 1,
    message: code,
  })
  const problems = [
    problemAt('PRICE_CURRENCY', 'models/a.yaml'),
    problemAt('CURRENCY_RATE', 'routes.yaml', 9),
    problemAt('UNKNOWN_KEY', 'models/a.yaml', 7),
    problemAt('WRONG_TYPE', 'routes.yaml', 8),
    problemAt('DUPLICATE_NAME', 'models/b.yaml', 5),
    problemAt('YAML_SYNTAX', 'models/a.yaml', 6),
  ]
  const order = [
    'YAML_SYNTAX',
    'DUPLICATE_NAME',
    'WRONG_TYPE',
    'UNKNOWN_KEY',
    'CURRENCY_RATE',
    'PRICE_CURRENCY',
  ]
  t.same(
    sortProblems(problems, 'routes.yaml').map(({ code }) => code),
    order,
  )
  const error = new ProblemsError(problems, texts, undefined, [], 'routes.yaml')
  t.same(
    error.problems.map(({ code }) => code),
    order,
  )
  t.same(
    [...error.message.matchAll(/ {2}([A-Z_]+) {2}/g)].map(([, code]) => code),
    order,
  )
})

t.test('json: has every member of a problem', async t => {
  t.same(JSON.parse(format([typo], texts, 'json')), {
    problems: [
      {
        code: 'UNKNOWN_KEY',
        message: 'unknown key "retrys"',
        file: 'routes.yaml',
        line: 3,
        column: 5,
        length: 6,
        suggestion: 'retries',
      },
    ],
    total: 1,
  })
})

t.test('github: prints a workflow command that a pull request shows at its line', async t => {
  t.equal(
    format([typo], texts, 'github'),
    '::error file=routes.yaml,line=3,col=5,endColumn=11,title=UNKNOWN_KEY' +
      '::unknown key "retrys"; did you mean "retries"?',
  )
  const odd = problem('UNKNOWN_KEY', { file: 'a,b:c%.yaml', line: 1, column: 1 }, ['x\ny 100%'])
  t.match(format([odd], texts, 'github'), 'file=a%2Cb%3Ac%25.yaml,')
  t.match(format([{ ...odd, message: 'a\nb%' }], texts, 'github'), /::a%0Ab%25$/)
})

t.test('allowed keys: below the code frame, and in the annotation of a pull request', async t => {
  const unknown = { ...typo, allowed: ['retries', 'path'] }
  t.match(format([unknown], texts, 'pretty'), /\^\n {2}Allowed keys: retries, path$/)
  t.match(format([unknown], texts, 'github'), /"retries"\?%0AAllowed keys: retries, path$/)
  t.match(format([{ ...typo, allowed: [] }], texts, 'pretty'), /\n {2}Allowed keys: none$/)
})

t.test('problems: sorted by file, line and column, without duplicates', async t => {
  const at = (file: string, line: number, column: number) => problem('ODD', { file, line, column })
  t.same(
    sortProblems([
      at('b', 1, 1),
      at('a', 10, 2),
      at('a', 9, 9),
      at('a', 10, 1),
      at('a', 10, 1),
    ]).map(p => `${p.file}:${p.line}:${p.column}`),
    ['a:9:9', 'a:10:1', 'a:10:2', 'b:1:1'],
  )
})

t.test('problems: with a root, paths are relative to the working directory', async t => {
  const options = { root: resolve('conf/live') }
  t.match(format([typo], texts, 'pretty', options), /^conf\/live\/routes\.yaml:3:5 /)
  t.match(format([typo], texts, 'github', options), 'file=conf/live/routes.yaml,')
  const outside = { ...typo, file: resolve('/etc/keys.yaml') }
  t.match(format([outside], texts, 'json', { root: resolve('.') }), /\.\.\/etc\/keys\.yaml|etc/)
})

t.test('problems: have colours only on request', async t => {
  t.notMatch(format([typo], texts, 'pretty'), '\u001b[')
  t.match(format([typo], texts, 'pretty', { color: true }), '\u001b[31mUNKNOWN_KEY')
})

t.test('problems: the message of the error holds the formatted text', async t => {
  const error = new ProblemsError([typo], texts)
  t.match(error.message, /^routes\.yaml:3:5 {2}UNKNOWN_KEY .*\n.*\n.*\n.*\^{6}$/)
  t.equal(error.problems.length, 1)
  t.equal(error.texts, texts)
})
