/** `tollgate init`: writes a configuration that serves at once into a folder without one. */
import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { configOf, type SingleCommand } from '../../engine/cli/command.ts'
import { EXIT, textOf, UsageError } from '../../engine/cli/kit.ts'
import { nearest } from '../../engine/config/nearest.ts'
import { isFields } from '../../engine/kit.ts'
import type { Json } from '../../engine/plugin.ts'
import { makeFolder } from '../../engine/store/make-folder.ts'
import { presets, type Starter, starterFor } from './starter/providers.ts'
import { routesYaml } from './starter/template.ts'

export default {
  summary:
    'Writes routes.yaml, .env.example and .gitignore into a folder without them. Overwrites nothing.',
  example: 'init --provider openai,anthropic',
  options: {
    provider: {
      type: 'string',
      value: 'NAMES',
      summary: 'presets to begin with, separated by commas; openai by default',
    },
    currency: {
      type: 'string',
      value: 'CODE',
      summary: 'currency of accounts and prices; USD by default',
    },
  },
  async run(args, terminal) {
    const config = resolve(configOf(args, terminal))
    const folder = dirname(config)
    const currency = textOf(args.values.currency) ?? 'USD'
    if (!/^[A-Z]{3}$/.test(currency))
      throw new UsageError(`--currency is a code such as USD, not "${currency}"`)
    const starters = startersFor(textOf(args.values.provider) ?? 'openai')
    const files = { [config]: yamlOf(starters, folder, currency), ...otherFiles(folder, starters) }
    const existing = Object.keys(files).find(file => existsSync(file))
    if (existing !== undefined)
      throw new UsageError(`${existing} exists; nothing was written. Choose an empty folder.`)
    makeFolder(folder)
    for (const [file, text] of Object.entries(files)) writeFileSync(file, text, { flag: 'wx' })
    const names = Object.keys(files).map(file => relative('', file))
    if (args.values.json) terminal.print(JSON.stringify(names))
    else
      terminal.print(
        `${names.join(', ')} written\n\n${nextSteps(relative('', folder), terminal.program(folder))}`,
      )
    return EXIT.ok
  },
} satisfies SingleCommand

const startersFor = (list: string): ReadonlyMap<string, Starter> => {
  const known = presets()
  return new Map(
    list.split(',').map(each => {
      const name = each.trim()
      const preset = Object.hasOwn(known, name) ? known[name] : undefined
      if (isFields(preset)) return [name, starterFor(name, preset)]
      const suggestion = nearest(name, Object.keys(known))
      const hint = suggestion === undefined ? '' : `; did you mean "${suggestion}"?`
      const names = Object.keys(known).join(', ')
      throw new UsageError(`there is no preset "${name}"${hint} There are ${names}.`)
    }),
  )
}

const yamlOf = (
  starters: ReadonlyMap<string, Starter>,
  folder: string,
  currency: string,
): string => {
  const entries = [...starters]
  const models: Record<string, Json> = {}
  for (const [, starter] of entries)
    for (const [name, options] of Object.entries(starter.models)) models[name] ??= options
  // Prices of the catalogue name their currency.
  const usd = JSON.stringify(models).includes(' USD') && currency !== 'USD'
  const text = routesYaml({
    folder,
    currency,
    remark: 'Made by `tollgate init`. Edit and save: new requests use the new version.',
    upstreams: Object.fromEntries(entries.map(([name, { upstream }]) => [name, upstream])),
    models,
  })
  const rate = `currency: { name: ${currency}, rates: { USD: 1 } } # set the exchange rate`
  return usd ? text.replace(`currency: { name: ${currency} }`, rate) : text
}

const otherFiles = (folder: string, starters: ReadonlyMap<string, Starter>) => {
  const variables = [...starters.values()].flatMap(each => Object.entries(each.variables))
  return {
    [join(folder, '.env.example')]: [
      '# Copy to .env and fill in; without a key the sandbox answers.',
      ...variables.map(([name, description]) => `# ${description}\n#${name}=`),
      '',
    ].join('\n'),
    [join(folder, '.gitignore')]: '.env\ndata/\n',
  }
}

/** `program`: what runs this program in the folder. */
const nextSteps = (folder: string, program: string): string =>
  [
    ...(folder === '' ? [] : [`cd ${folder}`]),
    `${program} check`,
    `${program} start     # without keys the sandbox answers; the banner prints a key and a first call`,
  ].join('\n')
