/** Variables of a file `.env` beside routes.yaml. The environment wins over the file. */
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { readText } from './disk.ts'
import { defineProblems, ProblemsError } from './problem.ts'

const problem = defineProblems({
  ENV_SYNTAX: 'a line of .env is NAME=value, # comment, or empty; quote a value of several lines',
})

export const envFileOf = (config: string): string => join(dirname(resolve(config)), '.env')

/** The variables of the file; none without a file. `warn`: called if it cannot be read. Throws
 *  ProblemsError for a line that is no variable. */
export const readEnvFile = (
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
  throw new ProblemsError(
    [problem('ENV_SYNTAX', { file: '.env', line, column: 1 })],
    new Map(),
    dirname(file),
  )
}

/** Number of the first line that is no variable, from 1. Values in quotes may span lines. */
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
