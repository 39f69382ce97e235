/** The `models:` section. */
import {
  anyOf,
  duration,
  flag,
  integer,
  json,
  list,
  map,
  number,
  object,
  oneOf,
  oneOrMore,
  type RawOf,
  required,
  schemasOf,
  text,
} from '../../engine/config/shape.ts'
import type { Balance } from '../../engine/plugin.ts'
import { FREE, MAX_CALLS, PRICE, UNPRICED, WHEN_VALUE } from '../billing/schema.ts'
import { PROMPT_CACHE } from '../conversion/prompt-cache-option.ts'
import { TIER_RULE } from '../conversion/tier-gate.ts'
import { ZONE } from '../slots.ts'
import { DEFAULTS } from './defaults.ts'
import { MIRROR } from './mirror.ts'
import { TRAITS } from './traits.ts'

const AFFINITY_SOURCES = [
  'prompt_cache_key',
  'conversation',
  'previous_response_id',
  'session',
  'metadata.user_id',
  'key',
] as const
/** Where a request names its conversation. */
export type AffinitySource = (typeof AFFINITY_SOURCES)[number]
/** All but the key, whose conversations are many. */
export const DEFAULT_AFFINITY: readonly AffinitySource[] = AFFINITY_SOURCES.slice(0, -1)
const BALANCE: readonly Balance[] = [
  'first',
  'round-robin',
  'weighted',
  'least-busy',
  'fastest',
  'cheapest',
  'prefix',
]

const NAME = '^\\S{1,256}$'
/** `upstream/name`, or the upstream alone, which then gets the name that the client sent. */
const TO = text(
  'An upstream and its name of the model; `*` and `{id}` take the values that matched in the key.',
  { pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*(/\\S+)?$', examples: ['gp/gpt-4.1'] },
)
const TARGET = object(
  'A target with its weight, cost and traits.',
  {
    to: required(TO),
    weight: number('Its share of the requests, relative to the other weights.', {
      minimum: 0,
      examples: [3],
    }),
    cost: number(
      'Your cost of a call there, relative to the other targets, for `balance: cheapest`.',
      { minimum: 0, examples: [0.4] },
    ),
    traits: TRAITS,
  },
  { examples: [{ to: 'gp/gpt-4.1', weight: 3 }] },
)
export type TargetOptions = RawOf<typeof TARGET>
const tokens = <const E extends number>(description: string, example: E) =>
  integer(description, { minimum: 1, examples: [example] })
const several = { minItems: 1, uniqueItems: true }

/** The members that only rules have. */
const ROUTING_WHEN = {
  tags: map(
    'Tags of the call that must have this value, or one of these.',
    oneOrMore('A value.', text('A value.', { minLength: 1, examples: ['alpha'] }), {
      minItems: 1,
      examples: ['alpha', ['alpha', 'beta']],
    }),
    { minProperties: 1, examples: [{ project: 'alpha' }] },
  ),
  zone: oneOrMore(
    'The route, the account or the key demands this zone, or one of these.',
    text('A zone.', { pattern: ZONE, examples: ['eu'] }),
    { minItems: 1, examples: ['eu'] },
  ),
}
const RULE_WHEN = json(
  'Conditions as prices have them: prompt, attributes, time of day, days of the week; and `tags` and `zone` of the call.',
  {
    type: 'object',
    minProperties: 1,
    properties: schemasOf(ROUTING_WHEN),
    additionalProperties: WHEN_VALUE.schema,
    examples: [{ prompt: '> 200k' }, { tags: { project: 'alpha' }, time: '22:00-06:00 +08:00' }],
  },
)
/** The conditions of a rule that the schema accepts. */
interface RuleWhen {
  readonly tags?: Readonly<Record<string, string | readonly string[]>>
  readonly zone?: string | readonly string[]
}
export const conditionsOf = ({ when = {} }: RuleOptions) => {
  const { tags = {}, zone, ...facts } = when as RuleWhen
  return { tags, zones: zone === undefined ? undefined : [zone].flat(), facts }
}

const RULE = object(
  'A rule: requests that match its conditions go to other targets. The first rule that matches applies.',
  {
    name: text('Its name in headers, logs and charges; by default its position, such as rule-1.', {
      pattern: '^[a-z][a-z0-9-]{0,40}$',
      examples: ['canary'],
    }),
    when: RULE_WHEN,
    headers: map(
      'Headers of the request that must have this value, or one of these.',
      oneOrMore('A value.', text('A value.', { examples: ['free'] }), { examples: ['free'] }),
      { minProperties: 1, examples: [{ 'x-tier': 'free' }] },
    ),
    share: text(
      'The share of conversations, accounts or keys that it matches; the same ones every time.',
      {
        pattern: '^([0-9]{1,2}(\\.[0-9]{1,4})?|100)%$',
        examples: ['5%'],
      },
    ),
    by: oneOf(
      'The unit of `share`: conversations (by the sources of `affinity`, else accounts), accounts or keys.',
      ['conversation', 'account', 'key'],
      { default: 'conversation', examples: ['account'] },
    ),
    to: oneOrMore('Its targets, in place of those of the model.', TO, {
      minItems: 1,
      examples: ['gx/gemini-2.5-pro'],
    }),
    only: list(
      'Names of upstreams. Targets at other upstreams are dropped, fallbacks included. The request is refused if no target is left.',
      text('A key of `upstreams:`.', { examples: ['eu'] }),
      { ...several, examples: [['eu']] },
    ),
  },
  { minProperties: 1, examples: [{ when: { prompt: '> 200k' }, to: 'gx/gemini-2.5-pro' }] },
)
export type RuleOptions = RawOf<typeof RULE>
/** The unit that the share of a rule divides. */
export const dividedBy = (rule: RuleOptions) => RULE.read(rule).by

export const DISCOVER = object(
  'The upstream is asked which models it has: only these are served and listed. The key has one `*`, and so has each target, as in `own/*`.',
  {
    every: duration('How often it is asked.', {
      pattern: '^[1-9][0-9]{0,4}(s|m|h)$',
      default: '1m',
      examples: ['1m'],
    }),
    grace: duration('How long a model is kept that the upstream no longer lists.', {
      default: '5m',
      examples: ['5m'],
    }),
  },
  { examples: [{ every: '1m' }] },
)
const MODEL = object(
  'One model, or all models whose names match a pattern.',
  {
    to: required(
      oneOrMore(
        'Its targets: an upstream and its name there, or a list of them, in order of preference.',
        TO,
        { minItems: 1, examples: ['gp/gpt-4.1', ['gp/gpt-4.1', 'spare/gpt-4.1']] },
        anyOf(undefined, [TO, TARGET]),
      ),
    ),
    balance: oneOf(
      'Load balancing: how one of several targets is picked. Without it: the `balance` of the route. `prefix`: the one with most of the prompt in its cache. `cheapest`: the one with the lowest `cost`.',
      BALANCE,
      { examples: ['round-robin'] },
    ),
    retry_on: list(
      'Further statuses of its targets after which another attempt is made, also for POST, although the upstream may have processed the request. Never for the calls of a task.',
      integer('A status of the upstream.', { minimum: 404, maximum: 599, examples: [500] }),
      { uniqueItems: true, examples: [[500, 502, 504]] },
    ),
    fallback: oneOrMore(
      'Another model, or several in order, whose targets are tried once no own target is left. The customer pays the price of this model.',
      text('A model.', { minLength: 1, examples: ['gp-4.1-mini'] }),
      { ...several, examples: ['gp-4.1-mini', ['gp-4.1-mini', 'cl-haiku']] },
    ),
    rules: list('Rules that send requests elsewhere, by what they are.', RULE, {
      minItems: 1,
      examples: [[{ when: { prompt: '> 200k' }, to: 'gx/gemini-2.5-pro' }]],
    }),
    affinity: object(
      'All calls of a conversation go to one target, address and key while these can be used, so that the caches of the provider serve them. With `balance: first` it decides between addresses and keys only.',
      {
        by: list(
          'Where a request names its conversation; the first one that it has counts. session: headers of agents such as session_id; previous_response_id: stored responses that continue each other; key: the API key.',
          oneOf('A source.', AFFINITY_SOURCES, { examples: ['session'] }),
          { ...several, examples: [['prompt_cache_key', 'session', 'key']] },
        ),
      },
      { examples: [{}, { by: ['session', 'key'] }] },
    ),
    aliases: list(
      'Further names of the model, such as the one of its provider, which agents know: the same targets, price and rights. Model lists show the model once: under its key, and to clients of Anthropic under its first alias, since agents hide names that they do not know. The aliases of a pattern are patterns with the same stars and placeholders.',
      text('A name, or a pattern with * or {id:expression}.', {
        pattern: NAME,
        examples: ['gpt-4.1'],
      }),
      { ...several, examples: [['gpt-4.1', 'gpt-4.1-2025-04-14']] },
    ),
    accepts: map(
      'JSON Schemas for request bodies of this model: route name, or * for every other route, to a schema, inline or a file. false: not served on that route.',
      anyOf(
        'A JSON Schema, or a file that contains one.',
        [
          text('A path relative to routes.yaml.', {
            format: 'file',
            examples: ['schemas/o3.json'],
          }),
          json('An inline schema.', { type: 'object', examples: [{ required: ['max_tokens'] }] }),
          flag('false: not served on this route.', { examples: [false] }),
        ],
        { examples: [false] },
      ),
      { examples: [{ chat: false, '*': { required: ['max_tokens'] } }] },
    ),
    mirror: MIRROR,
    cache: oneOf(
      '`exact`: equal requests of one owner are answered from the cache; `semantic`: those with a similar last text, too. See `cache:`.',
      ['exact', 'semantic'],
      { examples: ['exact'] },
    ),
    defaults: DEFAULTS,
    discover: DISCOVER,
    only: list(
      'Names of the only routes that serve it. Other routes refuse it and name these routes.',
      text('The name of a route.', { examples: ['responses'] }),
      { ...several, examples: [['responses']] },
    ),
    price: PRICE,
    free: FREE,
    max_calls: MAX_CALLS,
    unpriced: UNPRICED,
    tiers: TIER_RULE,
    traits: TRAITS,
    prompt_cache: PROMPT_CACHE,
    thinking: object(
      'Thinking by default: requests that do not set thinking get this budget.',
      {
        budget: required(
          anyOf(
            'Tokens, or a percentage of the output limit.',
            [
              integer('Tokens.', { minimum: 1024, examples: [4096] }),
              text('A percentage.', { pattern: '^[1-9][0-9]?%$', examples: ['80%'] }),
            ],
            { examples: ['80%'] },
          ),
        ),
      },
      { examples: [{ budget: '80%' }] },
    ),
    owner: text('The owner that model lists show.', { examples: ['gp'] }),
    title: text('Its display name.', { examples: ['GP 4.1'] }),
    context: tokens('Context window: input and output together, in tokens.', 1_047_576),
    output: tokens('Output limit, in tokens.', 32_768),
    media: object(
      'The maximum tokens of one medium that a request refers to by URL or id, for holds. Default: the context.',
      {
        image: tokens('Of an image.', 4_784),
        video: tokens('Of a video.', 300_000),
        audio: tokens('Of a recording.', 100_000),
        document: tokens('Of a document.', 300_000),
      },
      { minProperties: 1, examples: [{ image: 4_784, document: 300_000 }] },
    ),
  },
  { examples: [{ to: 'gp/gpt-4.1', price: { input: '2.00 USD / 1M', output: '8.00 USD / 1M' } }] },
)
/** An entry that the schema accepts. */
export type ModelOptions = RawOf<typeof MODEL>

export const SECTION = map(
  'The models that customers can request: a name, or a pattern with * or {id:expression}, to its targets.',
  MODEL,
  { propertyNames: { pattern: NAME }, examples: [{ 'gp-4.1': { to: 'gp/gpt-4.1' } }] },
)
export type Section = RawOf<typeof SECTION>
