/** `tollgate import litellm FILE`: converts a configuration of LiteLLM. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import type { Command, SingleCommand } from '../engine/cli/command.ts'
import { EXIT, textOf, UsageError } from '../engine/cli/kit.ts'
import type { Tables } from './litellm/deployment.ts'

const litellm: SingleCommand = {
  arguments: 'FILE',
  summary:
    'Converts a config.yaml of LiteLLM: models, addresses, keys, fallbacks, limits. Names each line that was not carried.',
  example: 'import litellm config.yaml --write routes.yaml',
  options: {
    write: { type: 'string', value: 'FILE', summary: 'write to this file, which must not exist' },
  },
  async run({ values, positionals }, terminal) {
    const [file = ''] = positionals
    const target = textOf(values.write)
    if (target !== undefined && existsSync(target))
      throw new UsageError(`${target} exists; it was not overwritten`)
    const { convertLitellm } = await import('./litellm/convert.ts')
    const { yaml, notes } = convertLitellm(
      read(file),
      tables(),
      dirname(resolve(target ?? 'routes.yaml')),
    )
    if (target !== undefined) writeFileSync(target, yaml, { flag: 'wx' })
    if (values.json) terminal.print(JSON.stringify({ yaml, notes }, null, 2))
    else {
      if (target === undefined) terminal.print(yaml.trimEnd())
      for (const { line, name, reason } of notes)
        terminal.printError(`${file}:${line}: ${name}: ${reason}`)
      if (target !== undefined) terminal.printError(nextStep(target, notes.length))
    }
    return EXIT.ok
  },
}

export default {
  summary: 'Converts the configuration of another gateway.',
  subcommands: { litellm },
} satisfies Command

const tables = (): Tables =>
  parse(readFileSync(new URL('./litellm/providers.yaml', import.meta.url), 'utf8')) as Tables

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`)
  }
}
const nextStep = (target: string, notes: number): string =>
  `${target} written; ${notes} ${notes === 1 ? 'line' : 'lines'} not carried. Now: tollgate check -c ${target}, then tollgate lint -c ${target}`
