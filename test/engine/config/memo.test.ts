/** Texts that processes of a machine keep beside the bundles. */
import { readdirSync, rmSync } from 'node:fs'
import t from 'tap'
import { createMemo } from '../../../engine/config/compile/memo.ts'

/** The memo of a new process whose bundles are in `folder`. */
const memoIn = (folder: string) => createMemo(folder)

t.test('memo: a text is made once, also for later processes', t => {
  const folder = t.testdir()
  t.equal(
    memoIn(folder)('name', () => 'first'),
    'first',
  )
  t.equal(
    memoIn(folder)('name', () => 'second'),
    'first',
  )
  t.equal(
    memoIn(folder)('other', () => 'second'),
    'second',
  )
  t.end()
})

t.test('memo: nothing is kept if making the text fails', t => {
  const folder = t.testdir()
  const fail = () => {
    throw new Error('unusable')
  }
  t.throws(() => memoIn(folder)('name', fail), { message: 'unusable' })
  t.same(readdirSync(folder), [])
  t.end()
})

t.test('memo: without a usable folder the text is made each time', t => {
  const folder = t.testdir()
  rmSync(folder, { recursive: true })
  for (const text of ['first', 'second'])
    t.equal(
      memoIn(folder)('name', () => text),
      text,
    )
  t.equal(
    createMemo(undefined)('name', () => 'third'),
    'third',
  )
  t.end()
})
