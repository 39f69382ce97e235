/** `tollgate test [FILE]`: sends requests to a throw-away gateway and compares the responses. */
import { readFileSync } from 'node:fs'
import { type Case, readCases } from '../../engine/cli/cases/cases.ts'
import { type Difference, differencesOf, type Received } from '../../engine/cli/cases/compare.ts'
import {
  startThrowAwayGateway,
  type ThrowAwayGateway,
} from '../../engine/cli/cases/throw-away-gateway.ts'
import { configOf, type SingleCommand, type Terminal } from '../../engine/cli/command.ts'
import { EXIT, UsageError } from '../../engine/cli/kit.ts'

const DEFAULT_FILE = 'routes.test.yaml'

export default {
  arguments: '[FILE]',
  summary: `Tests the configuration: requests and what they must answer, from a file (${DEFAULT_FILE}), at a gateway of its own with simulated upstreams.`,
  example: `test ${DEFAULT_FILE}`,
  async run(args, terminal) {
    const [file = DEFAULT_FILE] = args.positionals
    const { cases, upstreams } = readCases(file, read(file))
    const gateway = await startThrowAwayGateway(configOf(args, terminal), upstreams, terminal)
    try {
      const results = []
      for (const each of cases) {
        const received = await send(each, gateway)
        const differences = differencesOf(each.expect, received)
        results.push({ name: each.name, passed: differences.length === 0, differences })
        if (!args.values.json) terminal.print(lines(each, differences, received, terminal))
      }
      const failed = results.filter(({ passed }) => !passed).length
      if (args.values.json) terminal.print(JSON.stringify(results, null, 2))
      else terminal.print(`${results.length - failed} passed, ${failed} failed`)
      return failed > 0 ? EXIT.problems : EXIT.ok
    } finally {
      await gateway.stop()
    }
  },
} satisfies SingleCommand

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read the cases: ${(error as Error).message}`)
  }
}

const send = async (each: Case, { url, key }: ThrowAwayGateway): Promise<Received> => {
  const { method, path, headers, body, isAuthenticated } = each
  const response = await fetch(new URL(path, url), {
    method,
    headers: {
      ...(isAuthenticated && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    redirect: 'manual',
  })
  const text = await response.text()
  return { status: response.status, headers: Object.fromEntries(response.headers), text }
}

const lines = (
  { name, method, path }: Case,
  differences: readonly Difference[],
  { text }: Received,
  terminal: Terminal,
): string => {
  if (differences.length === 0) return `ok      ${name}`
  const rows = differences.flatMap(({ at, expected, actual }) => [
    `  ${at}`,
    terminal.paint('green', `    + expected ${expected}`),
    terminal.paint('red', `    - received ${actual}`),
  ])
  const start = text.length > 500 ? `${text.slice(0, 500)}…` : text
  return [
    terminal.paint('red', `FAILED  ${name} (${method} ${path})`),
    ...rows,
    `  body: ${start}`,
  ].join('\n')
}
