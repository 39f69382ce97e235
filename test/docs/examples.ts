/** The plugins of docs/plugins.md as modules, for tests that run them in this process. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import type { Plugin } from '../../engine/plugin.ts'
import { blocksOf } from './blocks.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export const exampleFiles = blocksOf('docs/plugins.md').filter(({ file }) =>
  file.startsWith('plugins/'),
)

/** A plugin of the page, or of examples/own-format, as a module that imports the source here. */
export const exampleOf = async (t: Test, name: string): Promise<Plugin> => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, `${name}.ts`)
  const text = exampleFiles.find(({ file }) => file === `plugins/${name}.ts`)?.text
  const source = (text ?? readFileSync(`${root}examples/own-format/plugins/${name}.ts`, 'utf8'))
    .replaceAll("from '../engine/", `from '${root}engine/`)
    .replaceAll("from './", `from '${root}plugins/`)
    .replace(/from 'tollgate\/(\w+)'/g, `from '${root}program/exports/$1.ts'`)
  writeFileSync(path, source)
  const { default: plugin } = (await import(path)) as { default: Plugin }
  return plugin
}
