/** `traits:` of a model and of a target: all traits that the gateway's plugins read, and x- names
 *  for plugins of operators. */
import { flag, integer, list, object, oneOf } from '../../engine/config/shape.ts'
import { RULES } from '../formats/hub/conversation-rules.ts'
import { knownFormats } from '../formats/index.ts'

// The default makes no useful example.
const trait = (description: string, fallback: boolean) =>
  flag(description, { examples: [!fallback] })
const count = <const E extends number>(description: string, example: E, minimum = 1) =>
  integer(description, { minimum, examples: [example] })

/** Prefix of traits for plugins of operators: the gateway never uses it. */
const OPERATOR_PREFIX = '^x-'

export const TRAITS = object(
  'Properties of the model that requests must respect; names that begin with x- are for your own plugins.',
  {
    formats: list(
      'The wire formats it supports, instead of those of its upstream.',
      oneOf('A wire format.', knownFormats, { $comment: 'formats', examples: ['openai-chat'] }),
      { minItems: 1, uniqueItems: true, examples: [['openai-responses']] },
    ),
    output: count('Output limit in tokens, if targets differ.', 8192),
    images: count('Maximum number of images of one call.', 1),
    edits: oneOf(
      'false: it generates images from text only. shown: it edits images of the request, but no images that it generated before.',
      [false, true, 'shown'],
      { examples: [false] },
    ),
    image_urls: trait(
      'false: it answers with images as base64 only, and accepts no response_format.',
      true,
    ),
    thinking: oneOf(
      'How requests control its thinking: not at all (false), by effort (adaptive), by tokens (budget) or by a level (level).',
      [false, true, 'adaptive', 'budget', 'level'],
      { examples: [false] },
    ),
    thinking_least: count(
      'Minimum thinking budget in tokens; the model then always thinks.',
      128,
      0,
    ),
    thinking_most: count('Maximum thinking budget in tokens.', 32_768),
    thinking_levels: list(
      'The thinking levels it accepts, if not MINIMAL to HIGH.',
      oneOf('A thinking level.', ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH'], {
        examples: ['LOW'],
      }),
      { minItems: 1, uniqueItems: true, examples: [['LOW', 'HIGH']] },
    ),
    sampling: trait(
      'false: it does not accept temperature, top_p, top_k, penalties and logprobs, nor stop and logit_bias at openai-chat. true: a target of anthropic-messages or bedrock-converse accepts temperature together with top_p, of which otherwise only temperature is sent, and bedrock-converse also top_k.',
      true,
    ),
    cache_points: trait(
      'false: a target of bedrock-converse has no prompt cache and refuses cache points.',
      true,
    ),
    system_turns: trait('It accepts system messages between other messages.', false),
    threads: trait(
      'A target of anthropic-messages keeps threads itself: `thread` is passed to it if all targets of the model do.',
      false,
    ),
    ...RULES,
    mixed_tools: trait(
      "It accepts hosted tools together with the client's functions, and structured output beside tools.",
      false,
    ),
    json_schema: trait('false: it accepts only a subset of OpenAPI schemas.', true),
    media_resolution: trait('It accepts a resolution for each image.', false),
    strict_tools: trait('It supports strict function schemas.', false),
    text_objects: trait(
      'An embedding model that accepts texts as objects, `{ type: text, text }`, as it accepts images.',
      false,
    ),
    search_unit: oneOf('query: the provider charges web search by query.', ['query'], {
      examples: ['query'],
    }),
    subjects: trait('false: it accepts no subjects; their images are sent as its images.', true),
    vertex: trait('It accepts fields that only Vertex AI supports.', false),
  },
  {
    patternProperties: {
      [OPERATOR_PREFIX]: { description: 'A trait for your own plugins.', examples: [1] },
    },
    examples: [{ formats: ['openai-responses'] }, { thinking: false }],
  },
)
