/** `tollgate explain`: route, stages and upstream request of one request, without sending it and
 *  without a gateway. */
import { readFileSync } from 'node:fs'
import {
  type ExplainedRequest,
  type Explanation,
  explain,
  type StageReport,
} from '../config/explain.ts'
import type { Target } from '../plugin.ts'
import { type Arguments, configOf, type SingleCommand, type Terminal } from './command.ts'
import { unmovedDatabase } from './databases.ts'
import { textOf, UsageError } from './kit.ts'
import { withLoadedConfig } from './load-for-command.ts'

export default {
  arguments: 'METHOD PATH',
  summary: 'Shows route, stages and upstream request of one request, without sending it.',
  example: 'explain POST /v1/items --body item.json --key "$KEY"',
  options: {
    body: { type: 'string', short: 'b', value: 'FILE', summary: 'the body; - reads stdin' },
    header: {
      type: 'string',
      short: 'H',
      multiple: true,
      value: "'NAME: VALUE'",
      summary: 'a header; can be repeated',
    },
    key: { type: 'string', short: 'k', value: 'KEY', summary: 'sent as Authorization: Bearer KEY' },
  },
  async run(args, terminal) {
    const config = configOf(args, terminal)
    const open = unmovedDatabase(args.values.anyway === true)
    return withLoadedConfig(config, terminal, open, async configuration => {
      const { snapshot, resources, secrets } = configuration
      const request = requestOf(args)
      const explanation = await explain(snapshot, resources.database, request)
      const key = textOf(args.values.key)
      const mask = createMask(key === undefined ? secrets : [...secrets, key])
      const text = args.values.json
        ? JSON.stringify(explanation, null, 2)
        : page(explanation, request, terminal)
      terminal.print(mask(text))
      return 0
    })
  },
} satisfies SingleCommand

const requestOf = ({
  values,
  positionals: [method = '', target = ''],
}: Arguments): ExplainedRequest => {
  if (!/^(?:\/|https?:\/\/)/i.test(target))
    throw new UsageError(`a path begins with "/": explain ${method} /${target}`)
  const file = textOf(values.body)
  const body = file === undefined ? undefined : read(file)
  const headers: Record<string, string> = {
    host: 'localhost',
    ...(body && { 'content-type': 'application/json', 'content-length': String(body.length) }),
    ...(values.key !== undefined && { authorization: `Bearer ${values.key}` }),
  }
  for (const line of Array.isArray(values.header) ? values.header : []) {
    const [, name, value] = /^([^\s:]+):\s*(.*)$/.exec(line) ?? []
    if (name === undefined) throw new UsageError(`--header needs 'NAME: VALUE', not "${line}"`)
    headers[name.toLowerCase()] = value ?? ''
  }
  return { method: method.toUpperCase(), target, headers, ...(body && { body }) }
}

const read = (file: string): Buffer => {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    throw new UsageError(`cannot read the body: ${(error as Error).message}`)
  }
}

const createMask = (secrets: Iterable<string>) => {
  const list = [...secrets].filter(secret => secret !== '')
  return (text: string): string => list.reduce((all, each) => all.replaceAll(each, '***'), text)
}

const nameOf = ({ upstream, name }: Target): string => [upstream, name].filter(Boolean).join('/')
const page = (explanation: Explanation, request: ExplainedRequest, terminal: Terminal): string => {
  const {
    route,
    allowed = [],
    stages,
    targets,
    warmUps = [],
    request: upstreamRequest,
  } = explanation
  const head = terminal.paint('bold', `${request.method} ${request.target}`)
  if (!route) {
    const status = allowed.length > 0 ? `405: the path has ${allowed.join(', ')}` : '404: no route'
    return `${head}\n  ${status}`
  }
  const params = Object.entries(route.params).map(([name, value]) => `${name}=${value}`)
  const names = targets.map(
    target => `${nameOf(target)}${warmUps.includes(target) ? ' (warmed up before)' : ''}`,
  )
  const lines = [
    head,
    ['  route   ', `${route.method} ${route.pattern}`, ...params].join(' '),
    ...stages.map((report, index) => {
      const isRefused = stages.slice(0, index).some(({ refusal }) => refusal)
      return `  ${stageLine(report, isRefused, terminal)}`
    }),
    `  target   ${names[0] ?? 'none'}${names.length > 1 ? `, then ${names.slice(1).join(', ')}` : ''}`,
  ]
  if (upstreamRequest) {
    const { method, url, headers, body } = upstreamRequest
    lines.push('', `${method} ${url}`)
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`)
    if (body !== '') lines.push('', body)
  }
  return lines.join('\n')
}

/** `isRefused`: by an earlier stage, so that this one would not run. */
const stageLine = (report: StageReport, isRefused: boolean, terminal: Terminal): string => {
  const { stage, ring, outcome, refusal, says } = report
  const result = refusal
    ? terminal.paint('red', `refuses  ${refusal.status} ${refusal.code}: ${refusal.message}`)
    : outcome === 'silent'
      ? terminal.paint('red', 'neither answers nor calls next(): is an `await next()` missing?')
      : outcome === 'unknown'
        ? 'unknown: it depends on the stage that refuses'
        : isRefused
          ? `does not run; without the refusal it ${outcome}`
          : outcome
  const explanation = says === undefined || says === null ? '' : `  ${JSON.stringify(says)}`
  return `${RING[ring]}  ${stage.padEnd(12)} ${result}${explanation}`
}
const RING = { handle: 'stage  ', forward: 'attempt' } as const
