/** Every member of a usage report and every tool in the newest types of the SDKs, and in the
 *  recordings, is known: it counts, is part of a count, or is not a usage. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { Json } from '../../../engine/plugin.ts'
import { openai } from '../../../plugins/embeddings/openai.ts'
import { bedrockConverse } from '../../../plugins/formats/bedrock-converse/index.ts'
import { type Fields, isFields } from '../../../plugins/formats/fields.ts'
import { hostedUsage as hostedByGoogle } from '../../../plugins/formats/google-gemini/hosted-tools.ts'
import {
  clientToolTokens,
  meterOfCall,
  offeredTools,
  readsBeyondRequest,
} from '../../../plugins/formats/hosted-tools.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { hostedUsage as hostedByOpenai } from '../../../plugins/formats/openai-responses/hosted-tools.ts'
import type { Meters } from '../../../plugins/slots.ts'
import { recordedFormat, recordings } from '../../helpers/formats/recordings.ts'
import { fileOf, type Schema } from '../../laws/sdk-schemas.ts'

/** Members that do not change what is charged, by the end of their path, with the reason. */
const NO_COUNTS: readonly (readonly [path: RegExp, reason: string])[] = [
  [/\.total_?tokens?$|\.total(?:Token)?(?:Tokens|Count)$/i, 'the sum of the others'],
  [/\.(?:type|model|modality|ttl|trafficType|serviceTier)$/, 'says what the counts beside it are'],
  [/\.(?:service_tier|speed|inference_geo)$/, 'an attribute of the price'],
  [/details\.(?:text_tokens|cached_text_tokens)$/, 'what its whole has beside the other parts'],
  [/\.(?:ephemeral_5m_input_tokens|ttl_30m_tokens)$/, 'what its whole has beside the longer time'],
  [/\.(?:accepted|rejected)_prediction_tokens$/, 'part of the completion at its price'],
  [/^openai-chat\.prompt_tokens_details\.image_tokens$/, 'part of the prompt at the price of text'],
  [/image_gen\.(?:cached_tokens|.*details\.)/, 'parts of the tokens of the tool'],
  [/\.fallback_credit\./, 'a credit of the provider, no usage'],
  [/\.initialPromptTokenCount$/, 'part of the prompt'],
  [/\.web_fetch_requests$/, 'billed by the tokens that it adds'],
  // Of the recordings:
  [/\.(?:num_sources_used|num_server_side_tools_used)$/, 'a sum of calls that are counted each'],
  [/\.cost_in_usd_ticks$/, 'a price'],
  [/\.context_details\./, 'a part of the tokens, for the size of the context'],
  [/\.audio_prompt_tokens$/, 'repeats the detail of the prompt'],
  [/\.mcp_calls$/, 'billed by the tokens that it adds'],
]
/** Read by the plugin `realtime`, whose tests charge them. */
const IN_SESSIONS = ['realtime', 'transcript']

// ---------------------------------------------------------------- types

const schemaOf = (
  name: string,
  type: string,
): readonly [Schema, Readonly<Record<string, Schema>>] => {
  const { definitions } = JSON.parse(readFileSync(fileOf(name), 'utf8'))
  return [definitions[type], definitions]
}
type Path = readonly string[]
const pathsIn = (
  schema: Schema,
  definitions: Readonly<Record<string, Schema>>,
  path: Path = [],
): Path[] => {
  const name = schema.$ref && decodeURIComponent(schema.$ref.replace('#/definitions/', ''))
  const target = name ? definitions[name] : undefined
  if (target) return pathsIn(target, definitions, path)
  const branches = [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]
  if (branches.length > 0) return branches.flatMap(each => pathsIn(each, definitions, path))
  if (schema.properties)
    return Object.entries(schema.properties).flatMap(([key, each]) =>
      pathsIn(each, definitions, [...path, key]),
    )
  if (schema.items) return pathsIn(schema.items, definitions, [...path, '[]'])
  return schema.type === 'null' ? [] : [path]
}

// ---------------------------------------------------------------- readers

type Read = (counts: Fields) => Meters | undefined
const READERS: Readonly<Record<string, Read>> = {
  'bedrock-converse': counts => bedrockConverse.usage?.meters(counts),
  iterations: counts =>
    formats.get('anthropic-messages')?.usage.meters({ iterations: counts.list ?? null }),
  embeddings: usage => openai.readAnswer({ data: [], usage }).meters,
  tool_usage(usage) {
    const hosted = hostedByOpenai.begin({})
    hosted.observe({ output: [], tool_usage: usage })
    return hosted.meters
  },
}
const readerOf = (name: string): Read | undefined =>
  READERS[name] ?? formats.get(name)?.usage.meters
/** A report with a number in one member, large enough sums, and the kinds that lists need. */
const reportWith = (path: Path, value: number): Json => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (key === '[]') return [{ modality: 'AUDIO', ttl: '1h', ...fieldsOf(reportWith(rest, value)) }]
  return { [key]: reportWith(rest, value) }
}
const fieldsOf = (value: Json): Fields => (isFields(value) ? value : {})
const WHOLES: Fields = {
  prompt_tokens: 10_000,
  completion_tokens: 10_000,
  input_tokens: 10_000,
  output_tokens: 10_000,
  promptTokenCount: 10_000,
  candidatesTokenCount: 10_000,
  cachedContentTokenCount: 1_000,
  cache_creation_input_tokens: 1_000,
  cacheWriteInputTokens: 1_000,
}
const merge = (one: Fields, other: Fields): Fields => {
  const merged: { [key: string]: Json } = { ...one }
  for (const key in other) {
    const [mine, theirs] = [merged[key], other[key] ?? null]
    merged[key] = isFields(mine) && isFields(theirs) ? merge(mine, theirs) : theirs
  }
  return merged
}
/** Each case needs another whole. */
const baseOf = (name: string, path: Path): Fields => {
  const own = path.at(-1) ?? ''
  const { [own]: _, ...base } = WHOLES
  if (name === 'openai-chat' || name === 'openai-responses' || name === 'openai-images')
    return merge(base, {
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 500 },
      output_tokens_details: {},
      svg_usage: { output_tokens: 500 },
    })
  if (name === 'google-gemini' && own === 'responseTokenCount') return { promptTokenCount: 1_000 }
  if (path[0] === 'responseTokensDetails') return { promptTokenCount: 1, responseTokenCount: 1_000 }
  if (name === 'bedrock-converse' && own === 'inputTokens') return { cacheWriteInputTokens: 1_000 }
  if (own === 'cache_read_input_tokens' || path[0] === 'iterations')
    return { input_tokens: 1, output_tokens: 1 }
  return base
}

const changes = (name: string, read: Read, path: Path): boolean => {
  const metersAt = (value: number): Meters | undefined => {
    if (name === 'iterations') {
      const [entry] = reportWith(path, value) as Fields[]
      return read({ list: [{ cache_creation_input_tokens: 1_000, ...entry }] })
    }
    return read(merge(baseOf(name, path), fieldsOf(reportWith(path, value))))
  }
  return JSON.stringify(metersAt(0)) !== JSON.stringify(metersAt(7))
}

t.test('usage types: every member counts, or is listed with the reason why not', async t => {
  const [schema, definitions] = schemaOf('usage-reports', 'UsageReports')
  let counts = 0
  for (const [name = '', ...path] of pathsIn(schema, definitions)) {
    const text = [name, ...path].join('.')
    if (NO_COUNTS.some(([pattern]) => pattern.test(text)) || IN_SESSIONS.includes(name)) continue
    const read = readerOf(name)
    if (!read) t.fail(`no reader of ${name}`)
    else if (!changes(name, read, path)) t.fail(`${text} is unknown`)
    else counts++
  }
  t.ok(counts > 30, `${counts} members count`)
})

// ---------------------------------------------------------------- tools

/** Tools that clients run. */
const CLIENT =
  /^(?:function|custom|functionDeclarations|namespace|computer.*|computerUse|bash_.*|text_editor_.*|memory_.*|browser_toolset_.*|local_shell|shell|apply_patch|cachePoint|toolSpec|systemTool)$/
/** Their definition is in the request. */
const DEFINED = /^(?:function|custom|functionDeclarations|namespace|cachePoint|toolSpec)$/
/** The client runs them, and the provider defines them. */
const DEFINED_ELSEWHERE =
  /^(?:computer(?:_\d+|_use_preview)?|computerUse|bash_.*|text_editor_.*|memory_.*|local_shell|shell|apply_patch)$/
const checkOffered = (t: Test, tool: Fields, name: string): void => {
  const readsMore = readsBeyondRequest({ tools: [tool] })
  const isBounded = DEFINED.test(name) || DEFINED_ELSEWHERE.test(name)
  t.equal(readsMore, !isBounded, `${name} bounds the input by the context`)
  const tokens = DEFINED_ELSEWHERE.test(name) ? 4_000 : 0
  t.equal(clientToolTokens({ tools: [tool] }), tokens, `${name} has a definition of its provider`)
  const offered = offeredTools({ tools: [tool] })
  if (CLIENT.test(name)) t.same(offered, [], `${name} is the client's`)
  else t.ok(offered.length > 0 && offered.every(each => each.tool), `${name} is in the table`)
}
t.test('tool types: every one is in the table of tools, or is the client’s', async t => {
  const [{ properties = {} }] = schemaOf('offered-tools', 'OfferedTools')
  const names = (member: string): readonly string[] => properties[member]?.enum ?? []
  for (const type of [...names('responses'), ...names('messages')]) checkOffered(t, { type }, type)
  for (const key of [...names('gemini'), ...names('converse')])
    if (key !== '$unknown') checkOffered(t, { [key]: {} }, key)
  for (const item of names('items').filter(each => each.endsWith('_call')))
    t.not(meterOfCall(item), 'other_tools', item)
  for (const block of names('blocks')) t.not(meterOfCall(block), 'other_tools', block)
  for (const toolType of names('toolTypes')) {
    const hosted = hostedByGoogle.begin({})
    hosted.observe({ candidates: [{ content: { parts: [{ toolCall: { toolType, id: 'a' } }] } }] })
    t.equal(hosted.meters.other_tools, undefined, toolType)
  }
  for (const member of [
    'responses',
    'messages',
    'gemini',
    'converse',
    'items',
    'blocks',
    'toolTypes',
  ])
    t.ok(names(member).length > 3, member)
})

// ---------------------------------------------------------------- recordings

const recorded = recordings()
const skip = recorded === undefined && 'RECORDINGS is unset'
const bodiesOf = (text: string): Fields[] => {
  try {
    const body: Json = JSON.parse(text)
    return isFields(body) ? [body] : []
  } catch {
    return text
      .split(/\r?\n/)
      .filter(line => /^data: ?\{/.test(line))
      .map(line => JSON.parse(line.slice(5)))
  }
}
const USAGE = /^(?:usage|usageMetadata|tool_usage)$/
/** Paths of numbers in the usage reports of an answer. */
const reportedIn = (value: Json, path: Path, inside: boolean, add: (path: Path) => void): void => {
  if (Array.isArray(value))
    for (const each of value) reportedIn(each, inside ? [...path, '[]'] : path, inside, add)
  else if (isFields(value))
    for (const key in value) {
      const isUsage = !inside && USAGE.test(key)
      const next = inside ? [...path, key] : key === 'tool_usage' ? ['tool_usage'] : []
      reportedIn(value[key] ?? null, next, inside || isUsage, add)
    }
  else if (inside && typeof value === 'number') add(path)
}
t.test('recorded reports: every member counts, or is listed with the reason', { skip }, async t => {
  const paths = new Map<string, readonly [name: string, path: Path]>()
  for (const { format, status, response_body: body } of recorded ?? []) {
    const name = recordedFormat(format)
    if (status !== 200 || !name) continue
    for (const answer of bodiesOf(body))
      reportedIn(answer, [], false, path => {
        const [first, ...rest] = path
        if (first === 'tool_usage') paths.set(path.join('.'), ['tool_usage', rest])
        else paths.set([name, ...path].join('.'), [name, path])
      })
  }
  for (const [text, [name, path]] of paths) {
    if (NO_COUNTS.some(([pattern]) => pattern.test(text))) continue
    const read = path[0] === 'server_side_tool_usage_details' ? readCalls : readerOf(name)
    const isForeign =
      name === 'openai-responses' && /_?(?:prompt|completion|reasoning)_tokens/.test(path[0] ?? '')
    if (isForeign) continue // a chat answer under the name of this format
    t.ok(read && changes(name, read, path), text)
  }
  t.ok(paths.size > 40, `${paths.size} members`)
})
const readCalls: Read = usage => {
  const hosted = hostedByOpenai.begin({})
  hosted.observe({ output: [], usage })
  return hosted.meters
}
t.test('recorded requests: every tool is in the table, or is the client’s', { skip }, async t => {
  const unknown = new Set<string>()
  let tools = 0
  for (const { request } of recorded ?? []) {
    if (!isFields(request) || !Array.isArray(request.tools)) continue
    tools += request.tools.length
    for (const { name, tool } of offeredTools(request as Fields)) if (!tool) unknown.add(name)
  }
  t.same([...unknown], [])
  t.ok(tools > 100, `${tools} tools`)
})
