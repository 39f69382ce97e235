/** Variables of a file `.env` beside routes.yaml. The environment wins over the file. */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { readText } from './disk.ts'
import { defineProblems, ProblemsError } from './problem.ts'

const problem = defineProblems({
  ENV_UNREADABLE: '.env is gone, empty or cannot be read; its variables stay as they were',
  ENV_SYNTAX: 'a line of .env is NAME=value, # comment, or empty; quote a value of several lines',
})

export const envFileOf = (config: string): string => join(dirname(resolve(config)), '.env')

/** The variable that names those of the environment that are of `.env`, for processes that this one
 *  starts. */
const ORIGIN = 'TOLLGATE_ENV_FILE'
interface Origin {
  readonly file: string
  readonly names: readonly string[]
}
type Environment = Record<string, string | undefined>

/** Adds the variables of `.env` to an environment, which wins. `warn`: called if the file cannot be
 *  read. Throws ProblemsError for a line that is not a variable. */
export const addEnvFile = (
  config: string,
  env: Environment,
  warn: (text: string) => void,
): void => {
  const file = envFileOf(config)
  const before = originIn(env, file)?.names ?? []
  const variables = readEnvFile(config, warn)
  for (const name of before) if (variables[name] === undefined) delete env[name]
  const names = Object.keys(variables).filter(
    name => env[name] === undefined || before.includes(name),
  )
  for (const name of names) env[name] = variables[name]
  env[ORIGIN] = JSON.stringify({ file, names } satisfies Origin)
}

/** Brings an environment up to date with `.env`, if `addEnvFile` made it. Throws ProblemsError, and
 *  changes nothing, if the file has a broken line, cannot be read, or is gone or empty (an editor
 *  is about to write it) while the environment has its variables. */
export const renewEnvFile = (config: string, env: Environment = process.env): void => {
  const file = envFileOf(config)
  const origin = originIn(env, file)
  if (!origin) return
  const fail = (): never => {
    throw problemAt(file, 'ENV_UNREADABLE', 1)
  }
  if (origin.names.length > 0 && !readText(file)?.trim()) fail()
  addEnvFile(config, env, fail)
}
const originIn = (env: Environment, file: string): Origin | undefined => {
  const origin: Origin | undefined = env[ORIGIN] && JSON.parse(env[ORIGIN])
  return origin?.file === file ? origin : undefined
}
const problemAt = (file: string, code: Parameters<typeof problem>[0], line: number) =>
  new ProblemsError([problem(code, { file: '.env', line, column: 1 })], new Map(), dirname(file))

/** The variables of the file; none without a file. `warn`: called if it cannot be read. Throws
 *  ProblemsError for a line that is not a variable. */
const readEnvFile = (
  config: string,
  warn: (text: string) => void,
): Readonly<Record<string, string | undefined>> => {
  const file = envFileOf(config)
  const text = readText(file)
  if (text === undefined) {
    if (existsSync(file)) warn(`warning: ${file} is ignored, since this user cannot read it`)
    return {}
  }
  const line = brokenLine(text)
  if (line === undefined) return parseEnv(text)
  throw problemAt(file, 'ENV_SYNTAX', line)
}

/** Number of the first line that is not a variable, from 1. Values in quotes may span lines. */
const brokenLine = (text: string): number | undefined => {
  const variable =
    /^[ \t]*(?:export[ \t]+)?[A-Za-z_]\w*[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`|[^"'`\n][^\n]*)?[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/
  const empty = /^[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/
  let [rest, line] = [text, 1]
  while (rest !== '') {
    const match = empty.exec(rest) ?? variable.exec(rest)
    if (!match) return line
    line += match[0].split('\n').length - 1
    rest = rest.slice(match[0].length)
  }
  return undefined
}
