/** Reads a provider's counts from its own answer without the gateway's code, as the reference for
 *  charges; and reads the charges of a gateway's ledger. */
import { openDatabase } from '../../../engine/store/database.ts'
import {
  asList,
  asNumber,
  asObject,
  eventBodies,
  type LooseObject,
} from '../../helpers/formats/loose-json.ts'
import { isEnd, readRecorded } from '../../helpers/formats/provider-reading.ts'
import type { Recording } from '../../helpers/formats/recordings.ts'

export type Counts = Readonly<Record<string, number>>

interface CountOptions {
  /** Whether the request offered hosted tools. */
  readonly search: boolean
  /** Sums several answers of one stream; default: the first answer only. */
  readonly all?: boolean
}
/** Undefined if the provider reports no usage. */
export const providerCounts = (
  recording: Recording,
  { search, all }: CountOptions,
): Counts | undefined => {
  const { format, stream, response_body: body } = recording
  const family = format.split('-')[0] ?? ''
  const bodies = stream ? eventBodies(body) : [JSON.parse(body) as LooseObject]
  const end = bodies.findIndex(({ type }) => type === 'message_stop' || isEnd(type))
  const first = end < 0 ? bodies : bodies.slice(0, end + 1)
  const usage = USAGE_OBJECTS[family]?.(first)
  if (!usage) return undefined
  const tools = search ? TOOL_CALLS[family]?.(all ? bodies : first, recording) : {}
  const rest = all && end >= 0 ? countsOfRest(bodies.slice(end + 1), family) : {}
  const counts = { ...sumOf(METERS[family]?.(usage) ?? {}, rest), ...tools }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

const sumOf = (one: Counts, other: Counts): Counts => {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return Object.fromEntries(names.map(name => [name, (one[name] ?? 0) + (other[name] ?? 0)]))
}
/** Counts of the answers after the first one. */
const countsOfRest = (bodies: readonly LooseObject[], family: string): Counts => {
  const end = bodies.findIndex(({ type }) => type === 'message_stop' || isEnd(type))
  const next = end < 0 ? bodies : bodies.slice(0, end + 1)
  const usage = next.length > 0 ? USAGE_OBJECTS[family]?.(next) : undefined
  if (!usage) return {}
  const counts = METERS[family]?.(usage) ?? {}
  return end < 0 ? counts : sumOf(counts, countsOfRest(bodies.slice(end + 1), family))
}

/** The usage object of each provider. */
const USAGE_OBJECTS: Readonly<
  Record<string, (all: readonly LooseObject[]) => LooseObject | undefined>
> = {
  chat: all => all.findLast(({ usage }) => usage)?.usage as LooseObject | undefined,
  responses: all => finalResponse(all).usage as LooseObject | undefined,
  messages(all) {
    const usages = all.map(each => asObject(asObject(each.message).usage ?? each.usage))
    const counts = usages.flatMap(usage =>
      Object.entries(usage).filter(([, count]) => count !== null),
    )
    return counts.length > 0 ? Object.fromEntries(counts) : undefined
  },
  gemini: all =>
    all
      .map(({ usageMetadata }) => asObject(usageMetadata))
      .findLast(usage => usage.promptTokenCount !== undefined),
}
const finalResponse = (all: readonly LooseObject[]): LooseObject =>
  asObject(all.findLast(({ type }) => isEnd(type))?.response ?? all[0])

/** Meters of a usage object. Providers count thoughts and cached tokens inside the totals or beside
 *  them. */
const METERS: Readonly<Record<string, (usage: LooseObject) => Counts>> = {
  chat(usage) {
    const [promptDetails, completionDetails] = [
      asObject(usage.prompt_tokens_details),
      asObject(usage.completion_tokens_details),
    ]
    const [prompt, completion] = [asNumber(usage.prompt_tokens), asNumber(usage.completion_tokens)]
    const thinking = asNumber(completionDetails.reasoning_tokens)
    // Only xAI's total shows that it counts thoughts beside the completion.
    const beside = asNumber(usage.total_tokens) > prompt + completion
    const cached = asNumber(promptDetails.cached_tokens)
    return {
      input: prompt - cached,
      cached,
      output: completion - (beside ? 0 : thinking),
      thinking,
    }
  },
  responses(usage) {
    const cached = asNumber(asObject(usage.input_tokens_details).cached_tokens)
    const cacheWrite = asNumber(asObject(usage.input_tokens_details).cache_write_tokens)
    const thinking = asNumber(asObject(usage.output_tokens_details).reasoning_tokens)
    const input = asNumber(usage.input_tokens) - cached - cacheWrite
    const output = asNumber(usage.output_tokens) - thinking
    return { input, cached, cache_write: cacheWrite, output, thinking }
  },
  messages(usage) {
    // Where iterations are listed, all of them are billed, also those that the total omits.
    const iterations = asList(usage.iterations)
    const runs = iterations.length > 0 ? iterations : [usage]
    const sum = (name: string): number =>
      runs.reduce((total, each) => total + asNumber(each[name]), 0)
    const hour = runs.reduce(
      (total, each) => total + asNumber(asObject(each.cache_creation).ephemeral_1h_input_tokens),
      0,
    )
    const thinking = asNumber(asObject(usage.output_tokens_details).thinking_tokens)
    const tools = asObject(usage.server_tool_use)
    return {
      input: sum('input_tokens'),
      cached: sum('cache_read_input_tokens'),
      cache_write: sum('cache_creation_input_tokens') - hour,
      cache_write_1h: hour,
      output: sum('output_tokens') - thinking,
      thinking,
      web_search: asNumber(tools.web_search_requests),
      code_execution: asNumber(tools.code_execution_requests),
    }
  },
  gemini(usage) {
    const of = (details: unknown, name: string): number =>
      asNumber(asList(details).find(({ modality }) => modality === name)?.tokenCount)
    const cached = asNumber(usage.cachedContentTokenCount)
    const cachedAudio = of(usage.cacheTokensDetails, 'AUDIO')
    const cachedImage = of(usage.cacheTokensDetails, 'IMAGE')
    const audioInput = of(usage.promptTokensDetails, 'AUDIO') - cachedAudio
    const audioOutput = of(usage.candidatesTokensDetails, 'AUDIO')
    const imageOutput = of(usage.candidatesTokensDetails, 'IMAGE')
    const prompt = asNumber(usage.promptTokenCount) + asNumber(usage.toolUsePromptTokenCount)
    return {
      input: prompt - cached - audioInput,
      cached: cached - cachedAudio - cachedImage,
      cached_audio: cachedAudio,
      cached_image: cachedImage,
      audio_input: audioInput,
      audio_output: audioOutput,
      image_output: imageOutput,
      output: asNumber(usage.candidatesTokenCount) - audioOutput - imageOutput,
      thinking: asNumber(usage.thoughtsTokenCount),
    }
  },
}

/** Calls of hosted tools, if the usage does not count them. */
const TOOL_CALLS: Readonly<
  Record<string, (all: readonly LooseObject[], recording: Recording) => Counts>
> = {
  chat: (_, { format, stream, response_body: body }) => ({
    web_search: Math.min(1, readRecorded(format, stream, body).citations.length),
  }),
  responses(all) {
    const response = finalResponse(all)
    const ran = (name: string): LooseObject[] =>
      asList(response.output).filter(
        ({ type, status, action }) =>
          type === name &&
          status !== 'failed' &&
          !/^(?:open_page|find_in_page)$/.test(String(asObject(action).type)),
      )
    // A container is billed once, however many programs run in it.
    const containers = new Set([
      ...ran('code_interpreter_call').map(item => item.container_id ?? item),
      ...ran('shell_call').flatMap(({ environment }) => asObject(environment).container_id ?? []),
    ])
    const { num_requests: reported } = asObject(asObject(response.tool_usage).web_search)
    const calls = asObject(asObject(response.usage).server_side_tool_usage_details)
    const counts = {
      web_search: typeof reported === 'number' ? reported : ran('web_search_call').length,
      file_search: ran('file_search_call').length,
      code_execution: containers.size,
      image_generation: ran('image_generation_call').length,
      x_search: ran('x_search_call').length,
    }
    // xAI reports what it bills.
    return Object.keys(calls).length > 0
      ? {
          ...counts,
          web_search: asNumber(calls.web_search_calls),
          x_search: asNumber(calls.x_search_calls),
        }
      : counts
  },
  gemini(all) {
    const candidates = all.flatMap(body => asList(body.candidates))
    const hasSearched = candidates.some(
      ({ groundingMetadata }) => asList(asObject(groundingMetadata).webSearchQueries).length > 0,
    )
    const programs = candidates
      .flatMap(({ content }) => asList(asObject(content).parts))
      .filter(({ executableCode }) => executableCode)
    return { web_search: hasSearched ? 1 : 0, code_execution: programs.length }
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
/** Reads all charges by request, once none is open. */
export const chargesIn = async (data: string): Promise<ReadonlyMap<string, Charge>> => {
  const database = await openDatabase({ url: 'sqlite:', data, writeTimeout: 60_000 })
  try {
    for (let attempts = 2_000; attempts > 0; attempts--) {
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
