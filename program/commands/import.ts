/** `tollgate import litellm` and `tollgate import new-api`: come over from another gateway. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import {
  type Arguments,
  type Command,
  configOf,
  type SingleCommand,
  type Terminal,
} from '../../engine/cli/command.ts'
import { EXIT, textOf, UsageError } from '../../engine/cli/kit.ts'
import type { Tables } from './litellm/tables.ts'
import type { ChannelTables } from './new-api/channels.ts'
import type { Conversion } from './new-api/convert.ts'
import { addVariables, writeConfig } from './starter/files.ts'
import type { PriceBook } from './starter/price-book.ts'

const STRICT = { type: 'boolean', summary: 'exit code 1 if anything was not carried' } as const

const litellm: SingleCommand = {
  arguments: 'FILE',
  summary:
    'Converts a config.yaml of LiteLLM: models, addresses, keys, prices, fallbacks, limits, timeouts. Names each line that was not carried.',
  example: 'import litellm config.yaml --write routes.yaml',
  options: {
    write: {
      type: 'string',
      value: 'FILE',
      summary: 'write to this file, which must not exist, and plain keys to .env beside it',
    },
    strict: STRICT,
  },
  async run({ values, positionals: [file = ''] }, terminal) {
    const target = textOf(values.write)
    if (target !== undefined && existsSync(target))
      throw new UsageError(`${target} exists; it was not overwritten`)
    const [{ convertLitellm }, { routesYaml }] = await Promise.all([
      import('./litellm/convert.ts'),
      import('./starter/template.ts'),
    ])
    const book = await shippedBook()
    const { parts, variables, notes, listPrices } = convertLitellm(
      read(file),
      shipped<Tables>('./litellm/providers.yaml'),
      book,
    )
    const yaml = routesYaml({ ...parts, folder: dirname(resolve(target ?? 'routes.yaml')) })
    const names = [...variables.keys()]
    notePriceBook(listPrices, book, terminal)
    if (values.json) terminal.print(JSON.stringify({ yaml, variables: names, notes }, null, 2))
    else
      for (const { line, name, reason } of notes)
        terminal.printError(`${file}:${line}: ${name}: ${reason}`)
    if (Object.keys(parts.models).length === 0) {
      terminal.printError(`${file} has no model that can be carried: nothing was written`)
      return EXIT.problems
    }
    if (target !== undefined) {
      writeConfig(target, yaml)
      writeVariables(target, variables, terminal)
      terminal.printError(nextStep(target, notes.length))
    } else if (!values.json) terminal.print(yaml.trimEnd())
    return values.strict === true && notes.length > 0 ? EXIT.problems : EXIT.ok
  },
}
const shippedBook = async (): Promise<PriceBook> => {
  const [{ PriceBook }, { shipped: shippedFile }] = await Promise.all([
    import('./starter/price-book.ts'),
    import('./starter/shipped.ts'),
  ])
  return new PriceBook(shippedFile('models/prices.yaml'))
}
const notePriceBook = (models: number, book: PriceBook, terminal: Terminal): void => {
  if (models > 0)
    terminal.printError(
      `list prices of ${book.date} (models/prices.yaml): ${models} models. Compare them with your contract`,
    )
}
/** Never prints a value. */
const writeVariables = (
  target: string,
  variables: ReadonlyMap<string, string>,
  terminal: Terminal,
): void => {
  const { added, different } = addVariables(target, variables)
  if (added > 0)
    terminal.printError(`variables added to .env, which only its owner can read: ${added}`)
  for (const name of different)
    terminal.printError(`${name} is in .env already, with another value, which stays`)
}

const newApi: SingleCommand = {
  arguments: 'FILE',
  summary:
    'Comes over from new-api or one-api: users, tokens with their keys, channels and prices, from one-api.db or a dump of its tables. Names each row that was not carried. Without --write it shows what it would do.',
  example: 'import new-api one-api.db --write routes.yaml',
  options: {
    write: {
      type: 'string',
      value: 'FILE',
      summary:
        'write the configuration to this file, keys of upstreams to .env beside it, and accounts and keys to its store',
    },
    accounts: {
      type: 'boolean',
      summary: 'add accounts and keys only, to the store of the configuration',
    },
    rate: {
      type: 'string',
      value: 'NUMBER',
      summary: 'what 1 USD of a balance becomes in the currency of accounts: 1',
    },
    strict: STRICT,
  },
  async run(args, terminal) {
    const {
      values,
      positionals: [file = ''],
    } = args
    const target = textOf(values.write)
    if (target !== undefined && values.accounts === true)
      throw new UsageError(
        '--write makes a configuration, --accounts uses the one that is there: give one of them',
      )
    const rate = rateOf(textOf(values.rate))
    const [{ readTables }, { convertTables }] = await Promise.all([
      import('./new-api/source.ts'),
      import('./new-api/convert.ts'),
    ])
    const folder = dirname(resolve(target ?? 'routes.yaml'))
    const types = shipped<ChannelTables>('./new-api/channels.yaml')
    const conversion = convertTables(readTables(file), types, {
      folder,
      rate,
      book: await shippedBook(),
    })
    const exit = await carry(conversion, args, terminal)
    const isIncomplete = values.strict === true && conversion.skipped.length > 0
    return exit === EXIT.ok && isIncomplete ? EXIT.problems : exit
  },
}
const rateOf = (text = '1'): number => {
  const rate = Number(text)
  if (/^\d+(\.\d+)?$/.test(text) && rate > 0) return rate
  throw new UsageError('--rate must be a number above 0, such as 7.3')
}

/** Writes what was converted, or prints it. Resolves to the exit code. */
const carry = async (
  { yaml, variables, accounts, skipped }: Conversion,
  args: Arguments,
  terminal: Terminal,
): Promise<number> => {
  const target = textOf(args.values.write)
  const isAccountsOnly = args.values.accounts === true
  const { lineOf } = await import('./new-api/report.ts')
  for (const each of skipped) terminal.printError(lineOf(each))
  if (target === undefined && !isAccountsOnly) {
    terminal.print(
      args.values.json
        ? JSON.stringify({ yaml, accounts: accounts.length, skipped }, null, 2)
        : yaml.trimEnd(),
    )
    return EXIT.ok
  }
  const { addAccounts } = await import('./new-api/write.ts')
  if (target !== undefined) {
    writeConfig(target, yaml, '. To add accounts and keys only: --accounts')
    terminal.printError(`${target} written`)
    writeVariables(target, variables, terminal)
  }
  const env = { ...Object.fromEntries(variables), ...terminal.env }
  const options = ['json', 'anyway'].filter(name => args.values[name]).map(name => `--${name}`)
  const config = target ?? configOf(args, terminal)
  const exit =
    accounts.length === 0
      ? EXIT.ok
      : await addAccounts(config, accounts, options, { ...terminal, env })
  if (target !== undefined)
    terminal.printError(`Now: tollgate check -c ${target}, then tollgate start`)
  return exit
}

export default {
  summary: 'Comes over from another gateway.',
  subcommands: { litellm, 'new-api': newApi },
} satisfies Command

const shipped = <T>(file: string): T =>
  parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as T

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`)
  }
}
const nextStep = (target: string, notes: number): string =>
  `${target} written; ${notes} ${notes === 1 ? 'line' : 'lines'} not carried. Now: tollgate check -c ${target}, then tollgate lint -c ${target}`
