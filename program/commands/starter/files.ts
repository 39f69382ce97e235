/** Writes what an import made: routes.yaml, and variables in .env. */
import { appendFileSync, chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { UsageError } from '../../../engine/cli/kit.ts'
import { envFileOf } from '../../../engine/config/env-file.ts'

/** Writes a new configuration; one that exists stays. Throws a UsageError with the hint if it
 *  differs. */
export const writeConfig = (file: string, yaml: string, hint = ''): void => {
  if (!existsSync(file)) writeFileSync(file, yaml, { flag: 'wx' })
  else if (readFileSync(file, 'utf8') !== yaml)
    throw new UsageError(
      `${file} exists and differs from what this import would write; it was not overwritten${hint}`,
    )
}

export interface AddedVariables {
  readonly added: number
  /** Names that .env has with another value, which stays. */
  readonly different: readonly string[]
}
/** Adds variables that .env does not have; only its owner can read it then. */
export const addVariables = (
  config: string,
  variables: ReadonlyMap<string, string>,
): AddedVariables => {
  const file = envFileOf(config)
  const before = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const known = parseEnv(before)
  const lines = [...variables].filter(([name]) => known[name] === undefined).map(lineOf)
  const different = [...variables]
    .filter(([name, value]) => known[name] !== undefined && known[name] !== value)
    .map(([name]) => name)
  if (lines.length > 0) {
    const start = before === '' || before.endsWith('\n') ? '' : '\n'
    appendFileSync(file, `${start}${lines.join('\n')}\n`, { mode: 0o600 })
    chmodSync(file, 0o600)
  }
  return { added: lines.length, different }
}
const lineOf = ([name, value]: readonly [string, string]): string => {
  const quote = [`"`, `'`, '`'].find(each => !value.includes(each)) ?? "'"
  return `${name}=${quote === '"' && value.includes('\\') ? `'${value}'` : quote + value + quote}`
}
