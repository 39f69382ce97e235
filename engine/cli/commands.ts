/** The commands of the engine, by name: one file each, loaded on demand, so that `version` does not
 *  load the YAML parser. */
import type { Command } from './command.ts'

export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
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
