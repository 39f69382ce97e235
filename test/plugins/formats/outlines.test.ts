/** Stages read the same values from a request and from its outline, in which long texts are cut. */
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { cutSize, hasCutText, isFields, isOutline, markOutline } from '../../../engine/kit.ts'
import type { Json } from '../../../engine/plugin.ts'
import { LIMITS } from '../../../engine/request/json/faults.ts'
import { BodyScan } from '../../../engine/request/json/scan.ts'
import { parseOutline } from '../../../engine/request/json.ts'
import type { Fields } from '../../../plugins/formats/fields.ts'
import { offeredTools, offersHostedTools } from '../../../plugins/formats/hosted-tools.ts'
import { formats } from '../../../plugins/formats/index.ts'
import { mediaReferencesIn } from '../../../plugins/formats/media-references.ts'
import { estimatePromptTokens } from '../../../plugins/formats/prompt-tokens.ts'
import { requestedTiersOf } from '../../../plugins/formats/tiers.ts'
import { AGENT_SIZES, agentBody } from '../../bench/agents/bodies.ts'
import { recordings } from '../../helpers/formats/recordings.ts'
import { geminiUser, imagePart, user } from '../../helpers/formats/request-parts.ts'

const scan = new BodyScan()
const outlineOf = (bytes: Buffer): Fields => {
  if (!scan.accepts(bytes, LIMITS, true)) throw new Error('not accepted')
  return markOutline(JSON.parse(scan.outline(false) ?? bytes.toString()) as Fields)
}
const TRAITS: readonly { readonly [trait: string]: Json }[] = [
  {},
  { custom_tools: false, structured: false, image_urls: false, edits: false },
  { thinking: 'budget', system_turns: false },
]
const TARGETS = TRAITS.map(traits => ({ traits, model: 'm' }))

/** The decisions that pass-through and billing make by the body. */
const decisionsOf = (body: Fields): readonly unknown[] => [
  offersHostedTools(body),
  offeredTools(body).map(({ name }) => name),
  mediaReferencesIn(body),
  requestedTiersOf(body),
  ...[...formats.values()].flatMap(format => [
    [...(format.limitsIn?.(body) ?? [])],
    format.answersIn?.(body),
    ...TRAITS.flatMap(traits => [
      attempt(() => format.codec?.needsTranslation?.(body, traits)),
      attempt(() => format.codec?.needsRewriting?.(body, traits)),
    ]),
    ...TARGETS.map(target =>
      attempt(() => (format.repairHistory?.(body, target as never) ?? []).length),
    ),
  ]),
]
const attempt = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

const text = 'x'.repeat(5_000)
const MEDIA: readonly Json[] = [
  imagePart(`data:image/png;base64,${text}`),
  imagePart(`data:video/mp4;codecs="avc1.42E01E, mp4a.40.2";base64,${text}`),
  imagePart(`https://example.com/${text.slice(0, 900)}.mp4?x=1`),
  { type: 'input_audio', input_audio: { data: text, format: 'wav' } },
  { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${text}` } },
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: text } },
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } },
]
const BODIES: readonly Json[] = [
  ...AGENT_SIZES.map(size => JSON.parse(agentBody(size, 'm', false)) as Json),
  ...MEDIA.map(part => ({ model: 'm', messages: [user(part)] })),
  { contents: [geminiUser({ inlineData: { mimeType: 'image/png', data: text } })] },
  {
    input: [user({ type: 'input_image', image_url: `data:image/png;base64,${text}` })],
  },
]

t.test('outlines: stages decide by them as by the whole body', async t => {
  const recorded = (recordings() ?? []).map(each => each.request as Json)
  let cut = 0
  for (const body of [...BODIES, ...recorded].filter(isFields)) {
    const bytes = Buffer.from(JSON.stringify(body))
    const outline = outlineOf(bytes)
    cut += Number(hasCutText(outline))
    const [actual, expected] = [decisionsOf(outline), decisionsOf(body)]
    if (!isDeepStrictEqual(actual, expected))
      t.same(actual, expected, bytes.toString().slice(0, 500))
  }
  t.ok(cut >= BODIES.length - 1, `${cut} outlines have cut texts`)
})
t.test('outlines: tokens of a prompt are estimated by the sizes of cut texts', async t => {
  for (const body of BODIES) {
    const bytes = Buffer.from(JSON.stringify(body))
    const tokens = estimatePromptTokens(body, bytes.length)
    const estimate = estimatePromptTokens(outlineOf(bytes), bytes.length)
    t.ok(Math.abs(estimate - tokens) <= tokens / 100, `${estimate} for ${tokens}`)
  }
})
t.test('outlines: a size that a client wrote counts nothing', async t => {
  const url = `data:image/png;base64,${'A'.repeat(60)}\u007f\n0:999999\u007f`
  const body = { messages: [user(imagePart(url), { type: 'text', text })] }
  const { json } = parseOutline(Buffer.from(JSON.stringify(body)))
  t.notOk(isOutline(json))
  t.equal(cutSize(url), 999_999, 'it looks like one')
  t.same(mediaReferencesIn(json as Fields)?.inlineImages, [url.length])
  t.equal(estimatePromptTokens(json, 1), estimatePromptTokens(body, 1))
})
