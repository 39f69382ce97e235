/** A copy of the source tree with a planted bug, and whether its tests detect the bug. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { plainCommand } from '../helpers/operator.ts'
import type { Mutation } from './mutation.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const COPIED_PATHS = [
  'engine',
  'plugins',
  'models',
  'schemas',
  'test',
  'routes.yaml',
  'presets.yaml',
  'console.yaml',
  'package.json',
  'tsconfig.json',
]
/** The environment of the tests, in their short form. */
const SHORT = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'LONG'))
/** Milliseconds: a test that hangs counts as failed. */
const TIMEOUT = 120_000

export interface Copy {
  /** The first test that failed; undefined if none did. Throws if an edit does not match exactly
   *  once. */
  firstFailure(mutation: Mutation): string | undefined
  remove(): void
}
export const copyTree = (): Copy => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-mutated-'))
  for (const path of COPIED_PATHS) cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const fails = (test: string): boolean => {
    const options = { cwd: folder, timeout: TIMEOUT, stdio: 'ignore', env: SHORT } as const
    return spawnSync(...plainCommand(process.execPath, test), options).status !== 0
  }
  return {
    firstFailure({ edits, tests }) {
      const before = new Map(
        edits.map(({ file }) => [file, readFileSync(join(folder, file), 'utf8')]),
      )
      const after = new Map(before)
      for (const { file, find, put } of edits) {
        const parts = (after.get(file) ?? '').split(find)
        if (parts.length !== 2)
          throw new Error(`${file} contains it ${parts.length - 1} times: ${find}`)
        after.set(file, parts.join(put))
      }
      for (const [file, text] of after) writeFileSync(join(folder, file), text)
      try {
        return tests.find(fails)
      } finally {
        for (const [file, text] of before) writeFileSync(join(folder, file), text)
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
