/** Translates one request into the format of a target: decoded, prepared, fitted and encoded. */
import type { Attempt } from '../../engine/plugin.ts'
import { DroppedFieldReport } from '../conversion/dropped-fields.ts'
import type { TargetFormat } from '../formats/format.ts'
import type { TargetFacts, UpstreamRequest } from '../formats/hub/codec.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { decodeCutRequest, passesTexts } from './cut-prompt.ts'
import { type DecodedRequest, decodeRequest } from './decode-request.ts'
import { fitPrompt } from './fit-prompt.ts'
import { preparePrompt } from './prepare-prompt.ts'
import type { TranslatableFormat, TranslationContext } from './translation-context.ts'

/** The formats of a translation, and the context of its route. */
export interface Translation {
  readonly client: TranslatableFormat
  readonly target: TargetFormat
  readonly context: TranslationContext
}
interface TranslatedRequest {
  readonly upstreamRequest: UpstreamRequest
  readonly dropped: DroppedFieldReport
  readonly prompt: Prompt
  /** The prompt as the target takes it. */
  readonly fitted: ReturnType<typeof fitPrompt>
}

export const translateRequest = async (
  translation: Translation,
  attempt: Attempt,
  facts: TargetFacts,
): Promise<TranslatedRequest> => {
  const cut = await translateCut(translation, attempt, facts)
  if (cut) return cut
  const { client, context } = translation
  const request = await decodeRequest(attempt.exchange, client.codec, context.thoughts)
  return translateDecoded(translation, request, attempt, facts)
}
/** Undefined if the whole request is needed, also to say what is wrong with it. */
const translateCut = async (
  translation: Translation,
  attempt: Attempt,
  facts: TargetFacts,
): Promise<TranslatedRequest | undefined> => {
  const { client, target, context } = translation
  if (!passesTexts(client.name, target.name)) return undefined
  try {
    const cut = await decodeCutRequest(attempt.exchange, client.codec, context.thoughts)
    if (!cut) return undefined
    const translated = await translateDecoded(translation, cut.request, attempt, facts)
    const { upstreamRequest } = translated
    const body = cut.body.restore(JSON.stringify(upstreamRequest.body))
    return body && { ...translated, upstreamRequest: { ...upstreamRequest, body } }
  } catch {
    return undefined
  }
}
const translateDecoded = async (
  { client, target: { name, codec }, context }: Translation,
  request: DecodedRequest,
  attempt: Attempt,
  facts: TargetFacts,
): Promise<TranslatedRequest> => {
  const dropped = new DroppedFieldReport(client.codec.settings)
  const goal = { codec, facts, dropped, isSameFormat: client.name === name }
  const preparing = preparePrompt(request, attempt, goal, context)
  // Most prompts are ready at once, and a turn of the queue would cost a microsecond.
  const prompt = preparing instanceof Promise ? await preparing : preparing
  const fitted = fitPrompt(prompt, goal)
  const upstreamRequest = codec.encodePrompt(fitted.prompt, facts, dropped)
  return { upstreamRequest, dropped, prompt, fitted }
}
