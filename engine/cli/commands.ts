/** The commands of the program, by name: one file each, loaded on demand, so that `version` does
 *  not load the YAML parser. */
import { readdirSync } from 'node:fs'
import type { Command } from './command.ts'

type Load = () => Promise<Command>
/** The folder program/commands/: commands that may know providers, NAME.ts each. */
const FOLDER = new URL('../../program/commands/', import.meta.url)
const FILE = /^([a-z][a-z-]*)\.[jt]s$/

const engineCommands: Readonly<Record<string, Load>> = {
  start: async () => (await import('./start.ts')).default,
  check: async () => (await import('./check.ts')).default,
  explain: async () => (await import('./explain.ts')).default,
  schema: async () => (await import('./schema.ts')).default,
  reload: async () => (await import('./reload.ts')).default,
  rollback: async () => (await import('./rollback.ts')).default,
  status: async () => (await import('./status.ts')).default,
  backup: async () => (await import('./backup.ts')).default,
  routes: async () => (await import('./routes.ts')).default,
  plugin: async () => (await import('./plugin.ts')).default,
  version: async () => (await import('./version.ts')).default,
}

const loadFile =
  (name: string): Load =>
  async () =>
    (await import(`../../program/commands/${name}.ts`)).default as Command
export const COMMANDS: Readonly<Record<string, Load>> = {
  ...engineCommands,
  ...Object.fromEntries(
    readdirSync(FOLDER).flatMap(file => {
      const name = FILE.exec(file)?.[1]
      return name === undefined ? [] : [[name, loadFile(name)] as const]
    }),
  ),
}
