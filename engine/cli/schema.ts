/** `tollgate schema`: prints the JSON Schema of routes.yaml with the keys of all plugins. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundlePlugins } from '../config/plugins/bundle.ts'
import { importPlugins } from '../config/plugins/import.ts'
import { pluginFolders } from '../config/plugins/plugin-folders.ts'
import { ProblemsError } from '../config/problem.ts'
import { fileSource, read } from '../config/read.ts'
import { schemaText } from '../config/schema.ts'
import { configOf, type SingleCommand } from './command.ts'
import { withCache } from './command-cache.ts'
import { settingsOf } from './load-for-command.ts'

export default {
  summary: 'Prints the JSON Schema of routes.yaml, including the keys of plugins.',
  example: 'schema --write',
  options: {
    write: { type: 'boolean', summary: 'write it to schemas/routes.json, where editors find it' },
  },
  async run(args, terminal) {
    const config = configOf(args, terminal)
    const reading = read(config, fileSource(terminal.env))
    const { root } = reading
    const text = await withCache(settingsOf(config, terminal).data, async cache => {
      const bundleResult = await bundlePlugins(pluginFolders(reading), root, cache)
      const { plugins, problems } = await importPlugins(
        bundleResult.bundles,
        root,
        bundleResult.inputs,
        () => {},
      )
      const allProblems = [...bundleResult.problems, ...problems]
      if (allProblems.length > 0) throw new ProblemsError(allProblems, new Map(), root)
      return schemaText(plugins)
    })
    if (!args.values.write) terminal.print(text.trimEnd())
    else {
      mkdirSync(join(root, 'schemas'), { recursive: true })
      writeFileSync(join(root, 'schemas/routes.json'), text)
      terminal.print(`${join(root, 'schemas/routes.json')} written`)
    }
    return 0
  },
} satisfies SingleCommand
