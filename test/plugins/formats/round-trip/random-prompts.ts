/** Generates random prompts of the hub with everything that more than one format can carry. */
import type { Content, Media, Text } from '../../../../plugins/formats/hub/content.ts'
import type {
  Form,
  FunctionTool,
  HostedTool,
  Prompt,
  Settings,
  Thinking,
  Tool,
  ToolChoice,
  Turn,
} from '../../../../plugins/formats/hub/prompt.ts'
import { PROMPT } from '../../../helpers/formats/codec.ts'
import fc from '../../../helpers/property.ts'

/** A value that is absent half of the time. */
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })
/** Omits absent members. */
const optionalMembers = <T extends object>(
  members: { [K in keyof T]-?: fc.Arbitrary<NonNullable<T[K]>> },
): fc.Arbitrary<T> => fc.record(members, { requiredKeys: [] }) as never as fc.Arbitrary<T>

const WORDS = ['hi', 'tell me', '{"a": 1}', 'größer ☃', '<b>', 'a\nb', '{"output":"x"}', '1']
const words = fc.constantFrom(...WORDS)
const text: fc.Arbitrary<Text> = words.map(text => ({ type: 'text', text }))
const cachedText: fc.Arbitrary<Text> = fc.record({
  type: fc.constant('text' as const),
  text: words,
  cache: fc.constantFrom({}, { ttl: '1h' }),
})
const citedText: fc.Arbitrary<Text> = words.map(text => ({
  type: 'text',
  text,
  citations: [{ url: 'https://example.org/', title: 'Example' }],
}))
const image: fc.Arbitrary<Media> = fc
  .record({
    source: fc.constantFrom(
      { type: 'data', data: 'iVBORw0KGgo=', mime: 'image/png' } as const,
      { type: 'url', url: 'https://example.org/a.png' } as const,
    ),
    detail: maybe(fc.constantFrom('low', 'high', 'auto')),
  })
  .map(({ source, detail }) => ({
    type: 'media',
    kind: 'image',
    source,
    ...(detail && { detail }),
  }))
const document: fc.Arbitrary<Media> = fc
  .record({
    source: fc.constantFrom(
      { type: 'data', data: 'JVBERi0xLjQ=', mime: 'application/pdf' } as const,
      { type: 'text', text: 'All of it.' } as const,
    ),
    name: maybe(fc.constantFrom('paper.pdf', 'Notes')),
    context: maybe(fc.constant('What this is about.')),
    citationsEnabled: maybe(fc.boolean()),
  })
  .map(({ source, name, context, citationsEnabled }) => ({
    type: 'media',
    kind: 'document',
    source,
    ...(name && { name }),
    ...(context && { context }),
    ...(citationsEnabled !== undefined && { citationsEnabled }),
  }))

// ---------------------------------------------------------------- tools

const SCHEMAS = [
  { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  {
    type: 'object',
    properties: {
      of: { type: ['string', 'null'] },
      many: { type: 'array', items: { type: 'number' } },
    },
    required: ['of', 'many'],
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: { at: { anyOf: [{ type: 'number' }, { enum: ['now', 'then'] }] } },
  },
] as const
const NAMES = ['look_up', 'send', 'add-2', 'look.up', 'y'.repeat(90)]
const tool = (name: string): fc.Arbitrary<FunctionTool> =>
  optionalMembers<Omit<FunctionTool, 'type' | 'name' | 'namespace' | 'native'>>({
    description: fc.constantFrom('Looks it up.', ''),
    schema: fc.constantFrom(...SCHEMAS),
    strict: fc.boolean(),
    cache: fc.constant({}),
  }).map(rest => ({ type: 'function', name, ...rest }))
const search: HostedTool = {
  type: 'hosted',
  tool: 'web_search',
  clientName: 'web_search',
  at: 'tools[9].web_search',
}
/** Some functions, and sometimes a hosted tool that not every target runs. */
const tools: fc.Arbitrary<readonly (FunctionTool | HostedTool)[]> = fc
  .tuple(fc.subarray(NAMES, { maxLength: 3 }), fc.option(fc.constant(search), { freq: 4 }))
  .chain(([names, hosted]) =>
    fc.tuple(...names.map(tool)).map(functions => [...functions, ...(hosted ? [hosted] : [])]),
  )
const choiceAmong = (tools: readonly Tool[]): fc.Arbitrary<ToolChoice | undefined> => {
  const names = tools.flatMap(tool => (tool.type === 'function' ? [tool.name] : []))
  if (names.length === 0) return fc.constant(undefined)
  return maybe(
    fc.oneof(
      fc.constantFrom<ToolChoice>({ type: 'auto' }, { type: 'none' }, { type: 'required' }),
      fc.constantFrom(...names).map((name): ToolChoice => ({ type: 'tool', name })),
      fc.record({
        type: fc.constant('some' as const),
        mode: fc.constantFrom('auto' as const, 'required' as const),
        names: fc.subarray(names, { minLength: 1 }),
      }),
    ),
  )
}

// ---------------------------------------------------------------- conversation

const userContent: fc.Arbitrary<readonly Content[]> = fc.array(
  fc.oneof({ weight: 4, arbitrary: text }, image, document, cachedText),
  { minLength: 1, maxLength: 3 },
)
const inputs = fc.constantFrom('{}', '{"city":"Ulm"}', '{"many":[1,2.5],"of":null}')
const IDS = ['call_1', 'toolu_01A', 'b:c/d', 'x'.repeat(70)]
/** An assistant turn with parallel calls, and their results. */
const exchange: fc.Arbitrary<readonly Turn[]> = fc
  .record({
    texts: fc.array(fc.oneof({ weight: 4, arbitrary: text }, cachedText, citedText), {
      maxLength: 2,
    }),
    refusalText: maybe(words),
    calls: fc.subarray(IDS),
    name: fc.constantFrom(...NAMES),
    input: inputs,
    resultContent: fc.array(fc.oneof({ weight: 4, arbitrary: text }, image, cachedText), {
      maxLength: 2,
    }),
    hasFailed: fc.boolean(),
    more: maybe(userContent),
  })
  .map(({ texts, refusalText, calls, name, input, resultContent, hasFailed, more }) => {
    const asks = calls.map((id): Content => ({ type: 'call', id, name, input }))
    const refusal: readonly Content[] =
      refusalText !== undefined && calls.length === 0
        ? [{ type: 'refusal', text: refusalText }]
        : []
    const results = calls.map(
      (id): Content => ({
        type: 'result',
        id,
        name,
        content: resultContent,
        ...(hasFailed && { hasFailed }),
      }),
    )
    return [
      { role: 'assistant', content: [...texts, ...refusal, ...asks] },
      { role: 'user', content: [...results, ...(more ?? [])] },
    ] satisfies Turn[]
  })
/** Makes the ids of calls unique. */
const renumberIds = (turns: readonly Turn[]): readonly Turn[] => {
  let round = 0
  return turns.map(({ role, content, ...rest }) => {
    if (role === 'assistant') round++
    return {
      role,
      ...rest,
      content: content.map(each =>
        each.type === 'call' || each.type === 'result'
          ? { ...each, id: `${round}${each.id}` }
          : each,
      ),
    }
  })
}
const turns: fc.Arbitrary<readonly Turn[]> = fc
  .record({
    system: fc.array(fc.oneof({ weight: 4, arbitrary: text }, cachedText), { maxLength: 2 }),
    first: userContent,
    name: maybe(fc.constant('ann')),
    exchanges: fc.array(exchange, { maxLength: 2 }),
    between: maybe(text),
    prefill: maybe(text),
  })
  .map(({ system, first, name, exchanges, between, prefill }) =>
    renumberIds(
      [
        { role: 'system', content: system } as const,
        { role: 'user', content: first, ...(name && { name }) } as const,
        ...exchanges.flat(),
        ...(between ? [{ role: 'system', content: [between] } as const] : []),
        ...(prefill ? [{ role: 'assistant', content: [prefill] } as const] : []),
      ].filter(({ content }) => content.length > 0),
    ),
  )

// ---------------------------------------------------------------- prompts

const settings: fc.Arbitrary<Settings> = optionalMembers<
  Omit<Settings, 'modalities' | 'audio' | 'safety' | 'background' | 'bias' | 'moderation'>
>({
  limit: fc.constantFrom(5, 200, 4_000, 30_000),
  temperature: fc.constantFrom(0, 0.3, 1, 1.7),
  topP: fc.constantFrom(0.4, 0.95, 1),
  topK: fc.constantFrom(1, 40),
  stops: fc.constantFrom(['END'], ['a', 'b', 'c', 'd', 'e', 'f'], [' ', 'x']),
  candidates: fc.constantFrom(1, 2),
  seed: fc.constant(7),
  cacheOptions: fc.constant({ mode: 'explicit' }),
  cacheRetention: fc.constant('24h'),
  frequencyPenalty: fc.constantFrom(0, 0.5),
  presencePenalty: fc.constantFrom(0, -0.5),
  logprobs: fc.boolean(),
  alternatives: fc.constantFrom(0, 3),
  parallel: fc.boolean(),
  user: fc.constant('u1'),
  metadata: fc.constant({ team: 'blue' }),
  tier: fc.constantFrom('auto', 'default', 'flex', 'priority', 'standard'),
  store: fc.boolean(),
  verbosity: fc.constantFrom('low', 'medium', 'high'),
  cacheKey: fc.constant('k1'),
})
const form: fc.Arbitrary<Form> = fc.oneof(
  fc.constant<Form>({ type: 'json' }),
  optionalMembers<{ name?: string; description?: string; strict?: boolean }>({
    name: fc.constantFrom('city', 'answer'),
    description: fc.constant('A place.'),
    strict: fc.boolean(),
  }).chain(rest =>
    fc.constantFrom(...SCHEMAS).map((schema): Form => ({ type: 'schema', schema, ...rest })),
  ),
)
const thinking: fc.Arbitrary<Thinking> = fc.constantFrom<Thinking>(
  { mode: 'off' },
  { mode: 'effort', effort: 'low' },
  { mode: 'effort', effort: 'high', show: true },
  { mode: 'budget', budget: 2_000 },
  { mode: 'budget', budget: 20_000, show: false },
  { mode: 'adaptive' },
)

export const prompts: fc.Arbitrary<Prompt> = fc
  .record({
    turns,
    tools,
    settings,
    form: maybe(form),
    thinking: fc.option(thinking, { nil: undefined, freq: 3 }),
    cache: fc.option(fc.constant({}), { nil: undefined, freq: 4 }),
    stream: fc.boolean(),
  })
  .chain(({ form, thinking, cache, ...prompt }) =>
    choiceAmong(prompt.tools).map(choice => ({
      ...PROMPT,
      ...prompt,
      ...(choice && { choice }),
      ...(form && { form }),
      ...(thinking && { thinking }),
      ...(cache && { cache }),
    })),
  )
