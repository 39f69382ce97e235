/** Finds the command of a plugin without loading the configuration. */
import { createHash } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bundle } from '../config/compile/blueprint.ts'
import { importPlugin } from '../config/plugins/import.ts'
import type { CommandOf, HostBase } from '../plugin.ts'
import { guarded } from './guard/guarded-load.ts'

/** Undefined if no plugin has it. `folder`: of the bundles. */
export const findCommand = (
  name: string,
  config: string,
  bundles: readonly Bundle[],
  folder: string,
): Promise<CommandOf<HostBase> | undefined> =>
  guarded(config, async progress => {
    const owners = await ownersOf(bundles, folder, progress)
    const owner = bundles.find(each => Object.hasOwn(owners, name) && each.name === owners[name])
    if (owner) progress(owner.file)
    const { commands = {} } = owner ? await importPlugin(owner) : {}
    return Object.hasOwn(commands, name) ? commands[name] : undefined
  })

/** The name of the plugin that has each command. Stored beside the bundles, since reading it from
 *  the plugins imports all of them. */
const ownersOf = async (
  bundles: readonly Bundle[],
  folder: string,
  progress: (file: string) => void,
): Promise<Readonly<Record<string, string>>> => {
  const key = createHash('sha256').update(JSON.stringify(bundles)).digest('hex').slice(0, 16)
  const file = join(folder, `commands-${key}.json`)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    const owners: Record<string, string> = {}
    for (const bundle of bundles) {
      progress(bundle.file)
      // A broken plugin has no commands; `tollgate check` reports it.
      const { commands = {} } = await importPlugin(bundle).catch(() => ({ commands: {} }))
      for (const command of Object.keys(commands)) owners[command] = bundle.name
    }
    try {
      writeFileSync(`${file}.${process.pid}`, JSON.stringify(owners))
      renameSync(`${file}.${process.pid}`, file)
    } catch {
      // The next command imports all plugins again.
    }
    return owners
  }
}
