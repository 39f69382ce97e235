/** `prompt_cache:` of a model or a route: cache breakpoints for clients that set none. */
import { object, oneOf, required } from '../../engine/config/shape.ts'
import { isFields } from '../../engine/kit.ts'
import type { Json, Target } from '../../engine/plugin.ts'
import type { AutoCache } from '../formats/hub/auto-cache.ts'

export const PROMPT_CACHE = object(
  'Cache breakpoints for requests without any: at the tools, the system prompt and the last two turns of the user. For providers that cache on request.',
  {
    breakpoints: required(oneOf('auto: the gateway sets them.', ['auto'], { examples: ['auto'] })),
    ttl: oneOf(
      "How long the provider keeps what it cached. Default: the provider's.",
      ['5m', '1h'],
      { examples: ['1h'] },
    ),
  },
  { examples: [{ breakpoints: 'auto', ttl: '1h' }] },
)

/** Of the model, or else of the route. */
export const autoCacheFor = (
  { traits }: Pick<Target, 'traits'>,
  ofRoute: AutoCache | undefined,
): AutoCache | undefined => readPromptCache(traits?.prompt_cache) ?? ofRoute

export const readPromptCache = (option: Json | undefined): AutoCache | undefined => {
  if (!isFields(option)) return undefined
  return typeof option.ttl === 'string' ? { ttl: option.ttl } : {}
}
