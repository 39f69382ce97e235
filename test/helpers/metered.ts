/** What a provider counted, read straight from what it wrote, without any of our own code: the measure for what is charged. And
 *  the charges of a gateway's books. */
import { openDatabase } from '../../engine/store/database.ts'
import { type Any, events, list, number, object } from './loose.ts'
import type { Recording } from './recorded.ts'
import { isEnd, readRecorded } from './recorded-reading.ts'

export type Counts = Readonly<Record<string, number>>

interface Asked {
  /** The request offered tools that the provider runs. */
  readonly search: boolean
  /** All of several answers in one stream, where otherwise the first is meant. */
  readonly all?: boolean
}
/** Undefined: it counted nothing. */
export const countedBy = (recording: Recording, { search, all }: Asked): Counts | undefined => {
  const { format, stream, response_body: body } = recording
  const family = format.split('-')[0] ?? ''
  const told = stream ? events(body) : [JSON.parse(body) as Any]
  const end = told.findIndex(({ type }) => type === 'message_stop' || isEnd(type))
  const first = end < 0 ? told : told.slice(0, end + 1)
  const usage = USAGES[family]?.(first)
  if (!usage) return undefined
  const tools = search ? WORKS[family]?.(all ? told : first, recording) : {}
  const rest = all && end >= 0 ? countsOfRest(told.slice(end + 1), family) : {}
  const counts = { ...sumOf(METERS[family]?.(usage) ?? {}, rest), ...tools }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

const sumOf = (one: Counts, other: Counts): Counts => {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return Object.fromEntries(names.map(name => [name, (one[name] ?? 0) + (other[name] ?? 0)]))
}
/** Of the answers behind the first one. */
const countsOfRest = (told: readonly Any[], family: string): Counts => {
  const end = told.findIndex(({ type }) => type === 'message_stop' || isEnd(type))
  const next = end < 0 ? told : told.slice(0, end + 1)
  const usage = next.length > 0 ? USAGES[family]?.(next) : undefined
  if (!usage) return {}
  const counts = METERS[family]?.(usage) ?? {}
  return end < 0 ? counts : sumOf(counts, countsOfRest(told.slice(end + 1), family))
}

/** The counts as its provider has them. */
const USAGES: Readonly<Record<string, (all: readonly Any[]) => Any | undefined>> = {
  chat: all => all.findLast(({ usage }) => usage)?.usage as Any | undefined,
  responses: all => wholeOf(all).usage as Any | undefined,
  messages(all) {
    const told = all.map(each => object(object(each.message).usage ?? each.usage))
    const said = told.flatMap(usage => Object.entries(usage).filter(([, count]) => count !== null))
    return said.length > 0 ? Object.fromEntries(said) : undefined
  },
  gemini: all =>
    all
      .map(({ usageMetadata }) => object(usageMetadata))
      .findLast(usage => usage.promptTokenCount !== undefined),
}
const wholeOf = (all: readonly Any[]): Any =>
  object(all.findLast(({ type }) => isEnd(type))?.response ?? all[0])

/** Whether thoughts, and what was cached, stand in the counts of what was written and read or beside them. */
const METERS: Readonly<Record<string, (usage: Any) => Counts>> = {
  chat(usage) {
    const [read, written] = [
      object(usage.prompt_tokens_details),
      object(usage.completion_tokens_details),
    ]
    const [prompt, completion] = [number(usage.prompt_tokens), number(usage.completion_tokens)]
    const thinking = number(written.reasoning_tokens)
    // Of xAI's totals alone it is seen that it counts thoughts beside what was said.
    const beside = number(usage.total_tokens) > prompt + completion
    const cached = number(read.cached_tokens)
    return {
      input: prompt - cached,
      cached,
      output: completion - (beside ? 0 : thinking),
      thinking,
    }
  },
  responses(usage) {
    const cached = number(object(usage.input_tokens_details).cached_tokens)
    const written = number(object(usage.input_tokens_details).cache_write_tokens)
    const thinking = number(object(usage.output_tokens_details).reasoning_tokens)
    const input = number(usage.input_tokens) - cached - written
    const output = number(usage.output_tokens) - thinking
    return { input, cached, cache_write: written, output, thinking }
  },
  messages(usage) {
    const hour = number(object(usage.cache_creation).ephemeral_1h_input_tokens)
    const thinking = number(object(usage.output_tokens_details).thinking_tokens)
    const tools = object(usage.server_tool_use)
    return {
      input: number(usage.input_tokens),
      cached: number(usage.cache_read_input_tokens),
      cache_write: number(usage.cache_creation_input_tokens) - hour,
      cache_write_1h: hour,
      output: number(usage.output_tokens) - thinking,
      thinking,
      web_search: number(tools.web_search_requests),
      code_execution: number(tools.code_execution_requests),
    }
  },
  gemini(usage) {
    const audio = (details: unknown): number =>
      number(list(details).find(({ modality }) => modality === 'AUDIO')?.tokenCount)
    const cached = number(usage.cachedContentTokenCount)
    const heard = audio(usage.promptTokensDetails) - audio(usage.cacheTokensDetails)
    const spoken = audio(usage.candidatesTokensDetails)
    const prompt = number(usage.promptTokenCount) + number(usage.toolUsePromptTokenCount)
    return {
      ...{ input: prompt - cached - heard, cached, audio_input: heard, audio_output: spoken },
      output: number(usage.candidatesTokenCount) - spoken,
      thinking: number(usage.thoughtsTokenCount),
    }
  },
}

/** What its own tools did, where the counts do not tell. */
const WORKS: Readonly<Record<string, (all: readonly Any[], recording: Recording) => Counts>> = {
  chat: (_, { format, stream, response_body: body }) => ({
    web_search: Math.min(1, readRecorded(format, stream, body).citations.length),
  }),
  responses(all) {
    const response = wholeOf(all)
    const ran = (name: string): number =>
      list(response.output).filter(
        ({ type, status, action }) =>
          type === name &&
          status !== 'failed' &&
          !/^(?:open_page|find_in_page)$/.test(String(object(action).type)),
      ).length
    const { num_requests: said } = object(object(response.tool_usage).web_search)
    return {
      web_search: typeof said === 'number' ? said : ran('web_search_call'),
      file_search: ran('file_search_call'),
      code_execution: ran('code_interpreter_call'),
    }
  },
  gemini(all) {
    const candidates = all.flatMap(body => list(body.candidates))
    const asked = candidates.some(
      ({ groundingMetadata }) => list(object(groundingMetadata).webSearchQueries).length > 0,
    )
    const programs = candidates
      .flatMap(({ content }) => list(object(content).parts))
      .filter(({ executableCode }) => executableCode)
    return { web_search: asked ? 1 : 0, code_execution: programs.length }
  },
}

export interface Charge {
  readonly state: unknown
  readonly amount: unknown
  readonly uncollected: unknown
  readonly estimated: unknown
  readonly usage: Counts
}
const CHARGES = {
  name: 'all charges',
  text: 'SELECT request, state, amount, uncollected, estimated, usage FROM charges',
}
/** All of them by their request, once none is open. */
export const chargesIn = async (data: string): Promise<ReadonlyMap<string, Charge>> => {
  const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 10_000 })
  try {
    for (let left = 2_000; left > 0; left--) {
      const rows = await database.read(CHARGES, [])
      if (rows.every(({ state }) => state !== 'open'))
        return new Map(
          rows.map(({ request, usage, ...row }) => [
            String(request),
            { ...row, usage: JSON.parse(String(usage ?? '{}')) } as Charge,
          ]),
        )
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    throw new Error('a charge stays open')
  } finally {
    await database.close()
  }
}
