/** An idle process returns the memory of its garbage; a busy one is not stopped for it. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const FILE = fileURLToPath(
  new URL('../../../../engine/processes/memory/idle-memory.ts', import.meta.url),
)
/** Leaves 32 MiB of garbage that is old, so that only a full collection finds it; prints the size
 *  of the heap before and after some checks, between which `between` runs. */
const program = (between: string): string => `
import { getHeapStatistics } from 'node:v8'
import { collectWhenIdle } from ${JSON.stringify(FILE)}
const size = () => getHeapStatistics().total_heap_size / 1_048_576
let objects = Array.from({ length: 500_000 }, (_, index) => ({ index, text: [index] }))
collectWhenIdle(100)
const before = size()
objects = undefined
let checks = 0
${between}
const timer = setInterval(() => {
  ${between}
  if (++checks < 30 && size() > before / 3) return
  clearInterval(timer)
  console.log(JSON.stringify({ before, after: size() }))
}, 100)`
/** After the first collection, garbage again: the size of the heap three checks later, and when it
 *  has shrunk. */
const SECOND = `
import { getHeapStatistics } from 'node:v8'
import { setTimeout as pause } from 'node:timers/promises'
import { collectWhenIdle } from ${JSON.stringify(FILE)}
const size = () => getHeapStatistics().total_heap_size / 1_048_576
const make = () => Array.from({ length: 500_000 }, (_, index) => ({ index, text: [index] }))
let objects = make()
collectWhenIdle(200)
const until = async isReached => {
  for (let each = 0; each < 100 && !isReached(); each++) await pause(50)
}
const start = size()
objects = undefined
await until(() => size() < start - 20)
const first = size()
objects = make()
objects = undefined
await pause(600)
const early = size()
await until(() => size() < early - 20)
console.log(JSON.stringify({ first, early, late: size() }))`
/** As workers, without the collector of V8 for idle processes. */
const run = (between: string): { before: number; after: number } =>
  JSON.parse(
    execFileSync(
      process.execPath,
      ['--no-memory-reducer', '--input-type=module', '--eval', program(between)],
      {
        encoding: 'utf8',
        env: { PATH: process.env.PATH },
      },
    ),
  )

t.test('an idle process returns the memory of its garbage to the system', async t => {
  const { before, after } = run('')
  t.ok(after < before / 3, `the heap shrinks from ${before} to ${after} MiB`)
})

t.test('a busy process is not stopped for a collection', async t => {
  const { before, after } = run(
    // CPU time: a busy machine gives less of it in 60 ms.
    'const end = process.cpuUsage().user + 60_000; while (process.cpuUsage().user < end);',
  )
  // V8 collects a part by itself.
  t.ok(after > before / 3, `the heap stays at ${after} of ${before} MiB`)
})

t.test('after requests it waits for six idle checks in a row: a collection drops code', async t => {
  const { first, early, late } = JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', SECOND], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH },
    }),
  )
  t.ok(early > first + 20, `three checks later ${early} MiB, ${first} after the first collection`)
  t.ok(late < early - 20, `later ${late} MiB`)
})
