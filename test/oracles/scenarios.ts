/** Conversations without a format, drawn by a seed from parts that combine freely. */
import { createChance } from '../helpers/run-settings.ts'

export type Media = 'png' | 'jpg' | 'gif' | 'url' | 'http-url' | 'pdf' | 'pdf-url' | 'text-file'
export interface CallStep {
  readonly type: 'calls'
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: object }[]
  readonly text?: string
  readonly thought?: 'signed' | 'unsigned'
  readonly result: 'text' | 'object' | 'empty' | 'failed' | 'image' | 'failed image' | 'parts'
}
export type Step =
  | { readonly type: 'user'; readonly text: string; readonly media: readonly Media[] }
  | { readonly type: 'assistant'; readonly text: string; readonly thought?: CallStep['thought'] }
  | { readonly type: 'system'; readonly text: string }
  | CallStep
export interface ToolPart {
  readonly name: string
  readonly schema: object | undefined
  readonly strict?: boolean
}
/** Shapes that clients send and that few expect. */
const ODD_SHAPES = [
  // Two turns with a call each, then both results.
  'late results',
  // A system turn between a call and its result.
  'note before the result',
  'two user turns',
  'an empty user turn',
  'an empty assistant turn',
  // Parts inside of a document, and a search result.
  'nested parts',
  // Tools that take free text.
  'free tools',
  // More hints about caching than a provider takes, of two lengths.
  'many cache hints',
  // Names of members in snake case.
  'snake case',
] as const
export interface Scenario {
  readonly system: readonly string[]
  readonly steps: readonly Step[]
  readonly tools: readonly ToolPart[]
  readonly hosted: boolean
  readonly choice?: 'auto' | 'none' | 'required' | 'one'
  readonly isSerial: boolean
  readonly form?: 'json' | 'schema'
  readonly thinking?: 'off' | 'low' | 'high'
  readonly limit: number
  readonly sampling: Readonly<Record<string, unknown>>
  readonly user?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly isCached: boolean
  readonly isStreamed: boolean
  readonly odd?: (typeof ODD_SHAPES)[number]
  /** Contents as plain text where a format takes it. */
  readonly isShort: boolean
}

const PROPERTIES = { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } }
const PLAIN = { type: 'object', properties: PROPERTIES, required: ['city'] }
const SCHEMAS: readonly (object | undefined)[] = [
  PLAIN,
  PLAIN,
  undefined,
  { type: 'object' },
  { type: 'object', properties: {} },
  {},
  { ...PLAIN, $schema: 'http://json-schema.org/draft-07/schema#', additionalProperties: false },
  {
    type: 'object',
    properties: { a: { $ref: '#/$defs/A' } },
    $defs: { A: { type: ['string', 'null'] } },
  },
  { type: 'object', oneOf: [PLAIN, { type: 'object', properties: { id: { type: 'string' } } }] },
  { anyOf: [PLAIN, { type: 'object', properties: {} }] },
  { $ref: '#/$defs/Root', $defs: { Root: PLAIN } },
  {
    type: 'object',
    properties: { kind: { const: 'a' }, level: { type: 'integer', enum: [1, 2] } },
  },
  { type: 'object', properties: { list: { type: 'array' }, any: {} }, required: ['list', 'other'] },
  {
    type: 'object',
    properties: { map: { type: 'object', additionalProperties: { type: 'string' } } },
  },
  { type: ['object', 'null'], properties: PROPERTIES },
]
const NAMES = ['get_weather', 'Read', 'mcp__files__list', 'a-b', 'x'.repeat(64)]
const IDS = ['call_1', 'toolu_01A', 'functions.read:0', `call_${'x'.repeat(70)}`, 'abcDEF123']
const MEDIA: readonly Media[] = [
  'png',
  'jpg',
  'gif',
  'url',
  'http-url',
  'pdf',
  'pdf-url',
  'text-file',
]
const RESULTS: readonly CallStep['result'][] = [
  'text',
  'object',
  'empty',
  'failed',
  'image',
  'failed image',
  'parts',
]
const TEXTS = ['hello', 'What is the weather?', ' ', 'Answer in JSON.', 'line\n']

/** The scenario of a number; the same number always gives the same. */
export const scenarioOf = (index: number): Scenario => {
  const chance = createChance(index * 7_919 + 1)
  const happens = (share: number): boolean => chance() < share
  const pick = <T>(list: readonly T[]): T => list[Math.floor(chance() * list.length)] as T
  const tools: ToolPart[] = happens(0.6)
    ? NAMES.slice(0, 1 + Math.floor(chance() * 3)).map(name => ({
        name,
        schema: pick(SCHEMAS),
        ...(happens(0.2) && { strict: true }),
      }))
    : []
  const thought = (): { readonly thought?: 'signed' | 'unsigned' } =>
    happens(0.3) ? { thought: happens(0.6) ? 'signed' : 'unsigned' } : {}
  const userStep = (): Step => ({
    type: 'user',
    text: pick(TEXTS),
    media: happens(0.25) ? [pick(MEDIA), ...(happens(0.3) ? [pick(MEDIA)] : [])] : [],
  })
  const callStep = (at: number): Step => ({
    type: 'calls',
    calls: Array.from({ length: happens(0.3) ? 2 : 1 }, (_, nth) => ({
      id: `${pick(IDS)}${at}${nth}`,
      name: (pick(tools) as ToolPart).name,
      input: happens(0.2) ? {} : { city: 'Paris' },
    })),
    ...(happens(0.3) && { text: 'I look.' }),
    ...thought(),
    result: pick(RESULTS),
  })
  const steps: Step[] = [userStep()]
  const rounds = Math.floor(chance() * 4)
  for (let round = 0; round < rounds; round++) {
    if (tools.length > 0 && happens(0.7)) steps.push(callStep(round))
    if (happens(0.6)) {
      steps.push({ type: 'assistant', text: pick(TEXTS), ...thought() })
      if (happens(0.15)) steps.push({ type: 'system', text: 'Be formal.' })
      steps.push(userStep())
    }
  }
  if (happens(0.05)) steps.push({ type: 'assistant', text: 'The answer is' })
  if (happens(0.05)) steps.push({ type: 'system', text: 'Be brief.' })
  const some = (members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
    Object.fromEntries(Object.entries(members).filter(() => happens(0.5)))
  return {
    system: happens(0.5) ? ['You are helpful.', ...(happens(0.3) ? ['Reply in JSON.'] : [])] : [],
    steps,
    tools,
    hosted: happens(0.1),
    ...(tools.length > 0 &&
      happens(0.4) && { choice: pick(['auto', 'none', 'required', 'one'] as const) }),
    isSerial: tools.length > 0 && happens(0.15),
    ...(happens(0.2) && { form: pick(['json', 'schema'] as const) }),
    ...(happens(0.35) && { thinking: pick(['off', 'low', 'high'] as const) }),
    limit: pick([100, 1_000, 4_096, 16_000]),
    sampling: happens(0.4)
      ? some({
          temperature: 0.7,
          topP: 0.9,
          topK: 40,
          stop: ['END', 'STOP'],
          seed: 7,
          penalty: 0.5,
        })
      : {},
    ...(happens(0.15) && { user: pick(['u1', 'u'.repeat(100)]) }),
    ...(happens(0.1) && { metadata: { team: 'a' } }),
    isCached: happens(0.2),
    isShort: happens(0.5),
    isStreamed: happens(0.25),
    ...(happens(0.3) && { odd: pick(ODD_SHAPES) }),
  }
}
