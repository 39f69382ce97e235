/** A copy of the tree with a bug planted in it, and whether its tests notice. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { plainly } from '../helpers/operator.ts'
import type { Mutation } from './mutation.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ROOMS = [
  'engine',
  'plugins',
  'models',
  'schemas',
  'test',
  'routes.yaml',
  'package.json',
  'tsconfig.json',
]
/** The tests in their short form. */
const SHORT = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'LONG'))
/** ms: a test that hangs has noticed as well. */
const PATIENCE = 120_000

export interface Copy {
  /** The first test that turned red; undefined: nobody noticed. Throws where an edit finds no place. */
  redWith(mutation: Mutation): string | undefined
  remove(): void
}
export const copyTree = (): Copy => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-mutated-'))
  for (const room of ROOMS) cpSync(join(ROOT, room), join(folder, room), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const isRed = (test: string): boolean => {
    const options = { cwd: folder, timeout: PATIENCE, stdio: 'ignore', env: SHORT } as const
    return spawnSync(...plainly(process.execPath, test), options).status !== 0
  }
  return {
    redWith({ edits, tests }) {
      const before = new Map(
        edits.map(({ file }) => [file, readFileSync(join(folder, file), 'utf8')]),
      )
      const after = new Map(before)
      for (const { file, find, put } of edits) {
        const parts = (after.get(file) ?? '').split(find)
        if (parts.length !== 2) throw new Error(`${file} has it ${parts.length - 1} times: ${find}`)
        after.set(file, parts.join(put))
      }
      for (const [file, text] of after) writeFileSync(join(folder, file), text)
      try {
        return tests.find(isRed)
      } finally {
        for (const [file, text] of before) writeFileSync(join(folder, file), text)
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
