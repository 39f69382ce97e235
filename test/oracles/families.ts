/** Families of models, by the name that the provider knows them by: what each takes or refuses. The
 *  facts are the providers', not those of our catalogue. */

export interface Family {
  readonly name: string
  readonly provider: 'openai' | 'anthropic' | 'google' | 'mistral' | 'deepseek' | 'other'
  /** Models that think before they answer: OpenAI's refuse sampling settings. */
  readonly reasons?: true
  /** Claude: the kinds of `thinking` that it takes. */
  readonly thinking?: readonly ('enabled' | 'adaptive')[]
  /** Claude: `temperature`, `top_p` and `top_k` are refused. */
  readonly noSampling?: true
  /** Claude: at most one of `temperature` and `top_p`. */
  readonly oneSampling?: true
  /** Claude: the last turn may not be the assistant's. */
  readonly noPrefill?: true
  /** Claude: system turns between other turns. */
  readonly systemTurns?: true
  /** Words of effort; absent at models of OpenAI: all. */
  readonly efforts?: readonly string[]
  /** Claude: `output_config.format`. */
  readonly schemas?: true
  /** Gemini: its generation. */
  readonly generation?: number
  /** Gemini: bounds of `thinkingBudget`; 0 where thinking can be switched off. */
  readonly budget?: readonly [least: number, most: number]
}
const EFFORTS = ['low', 'medium', 'high']
const ANTHROPIC = { provider: 'anthropic' } as const
const GOOGLE = { provider: 'google' } as const
const ADAPTIVE = {
  ...ANTHROPIC,
  thinking: ['adaptive'],
  noSampling: true,
  noPrefill: true,
  efforts: [...EFFORTS, 'xhigh', 'max'],
  schemas: true,
} as const

/** The first pattern that matches the model's name. Sources: platform.claude.com/docs (models,
 *  extended and adaptive thinking, effort), platform.openai.com/docs/guides/reasoning,
 *  ai.google.dev/gemini-api/docs/thinking. */
const FAMILIES: readonly (readonly [RegExp, Family])[] = [
  [
    /claude-(?:opus-5|sonnet-5|fable|opus-4-8)/,
    { name: 'claude-5', ...ADAPTIVE, systemTurns: true },
  ],
  [/claude-opus-4-7/, { name: 'claude-opus-4-7', ...ADAPTIVE }],
  [/claude-haiku-5-5/, { name: 'claude-haiku-5-5', ...ADAPTIVE }],
  [
    /claude-(?:opus|sonnet)-4-6/,
    {
      name: 'claude-4-6',
      ...ANTHROPIC,
      thinking: ['enabled', 'adaptive'],
      oneSampling: true,
      noPrefill: true,
      efforts: [...EFFORTS, 'max'],
      schemas: true,
    },
  ],
  [
    /claude-opus-4-5/,
    {
      name: 'claude-opus-4-5',
      ...ANTHROPIC,
      thinking: ['enabled'],
      oneSampling: true,
      efforts: EFFORTS,
      schemas: true,
    },
  ],
  [
    /claude-(?:sonnet|haiku)-4-5/,
    { name: 'claude-4-5', ...ANTHROPIC, thinking: ['enabled'], oneSampling: true, schemas: true },
  ],
  [
    /claude-(?:opus|sonnet)-4|claude-3-7/,
    { name: 'claude-4', ...ANTHROPIC, thinking: ['enabled'] },
  ],
  [/claude/, { name: 'claude-3', ...ANTHROPIC }],
  [
    /gemini-2\.5-pro/,
    { name: 'gemini-2.5-pro', ...GOOGLE, generation: 2.5, budget: [128, 32_768] },
  ],
  [/gemini-2\.5/, { name: 'gemini-2.5-flash', ...GOOGLE, generation: 2.5, budget: [0, 24_576] }],
  [/gemini-[34]/, { name: 'gemini-3', ...GOOGLE, generation: 3, budget: [0, 32_768] }],
  [/gemini/, { name: 'gemini-2', ...GOOGLE, generation: 2 }],
  // An open model, which others serve.
  [/gpt-oss/, { name: 'gpt-oss', provider: 'other' }],
  [/^o[134](?:-|$)/, { name: 'gpt-o', provider: 'openai', reasons: true, efforts: EFFORTS }],
  [
    /^gpt-5(?:-(?:mini|nano|2\S*))*$/,
    { name: 'gpt-5', provider: 'openai', reasons: true, efforts: ['minimal', ...EFFORTS] },
  ],
  [
    /^gpt-5\.1(?!-codex-max)/,
    { name: 'gpt-5.1', provider: 'openai', reasons: true, efforts: ['none', ...EFFORTS] },
  ],
  [/^(?:o\d|gpt-5|codex)/, { name: 'gpt-reasoning', provider: 'openai', reasons: true }],
  [/^(?:gpt-|chatgpt)/, { name: 'gpt', provider: 'openai' }],
  [/^(?:mistral|magistral|ministral|codestral|devstral)/, { name: 'mistral', provider: 'mistral' }],
  [/^(?:deepseek|kimi)/, { name: 'deepseek', provider: 'deepseek', reasons: true }],
]
const OTHER: Family = { name: 'other', provider: 'other' }

/** The family of a model at its provider. */
export const familyOf = (model: string): Family =>
  FAMILIES.find(([pattern]) => pattern.test(model))?.[1] ?? OTHER
