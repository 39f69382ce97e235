/** `traits:` of a model and of a target: all traits that the gateway's plugins read, and x- names
 *  for plugins of operators. */
import { RULES } from '../formats/hub/conversation-rules.ts'
import { knownFormats } from '../formats/index.ts'

const flag = (description: string, fallback: boolean) => ({
  description,
  type: 'boolean',
  // The default makes no useful example.
  examples: [!fallback],
})
const choice = (description: string, ...words: readonly (string | boolean)[]) => ({
  description,
  enum: words,
  examples: [words[0]],
})
const count = (description: string, example: number) => ({
  description,
  type: 'integer',
  minimum: 1,
  examples: [example],
})

/** Prefix of traits for plugins of operators: the gateway never uses it. */
const OPERATOR_PREFIX = '^x-'

export const TRAITS = {
  description:
    'Properties of the model that requests must respect; names that begin with x- are for your own plugins.',
  type: 'object',
  additionalProperties: false,
  patternProperties: {
    [OPERATOR_PREFIX]: { description: 'A trait for your own plugins.', examples: [1] },
  },
  properties: {
    formats: {
      description: 'The wire formats it supports, instead of those of its upstream.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: {
        enum: knownFormats,
        $comment: 'formats',
        description: 'A wire format.',
        examples: ['openai-chat'],
      },
      examples: [['openai-responses']],
    },
    output: count('Output limit in tokens, where targets differ.', 8192),
    images: count('Maximum number of images of one call.', 1),
    edits: choice(
      'false: it generates images from text only. shown: it edits images of the request, but no images that it generated before.',
      false,
      true,
      'shown',
    ),
    image_urls: flag(
      'false: it answers with images as base64 only, and accepts no response_format.',
      true,
    ),
    thinking: choice(
      'How requests control its thinking: not at all (false), by effort (adaptive), by tokens (budget) or by a level (level).',
      false,
      true,
      'adaptive',
      'budget',
      'level',
    ),
    thinking_least: {
      ...count('Minimum thinking budget in tokens; the model then always thinks.', 128),
      minimum: 0,
    },
    thinking_most: count('Maximum thinking budget in tokens.', 32_768),
    thinking_levels: {
      description: 'The thinking levels it accepts, if not MINIMAL to HIGH.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: {
        description: 'A thinking level.',
        enum: ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH'],
        examples: ['LOW'],
      },
      examples: [['LOW', 'HIGH']],
    },
    sampling: flag(
      'false: it does not accept temperature, top_p, top_k, penalties and logprobs, nor stop and logit_bias at openai-chat. true: a target of anthropic-messages or bedrock-converse accepts temperature together with top_p, of which otherwise only temperature is sent, and bedrock-converse also top_k.',
      true,
    ),
    cache_points: flag(
      'false: a target of bedrock-converse has no prompt cache and refuses cache points.',
      true,
    ),
    system_turns: flag('It accepts system messages between other messages.', false),
    threads: flag(
      'A target of anthropic-messages keeps threads itself: `thread` is passed to it if all targets of the model do.',
      false,
    ),
    ...RULES,
    mixed_tools: flag(
      "It accepts hosted tools together with the client's functions, and structured output beside tools.",
      false,
    ),
    json_schema: flag('false: it accepts only a subset of OpenAPI schemas.', true),
    tool_media: flag('It accepts images in tool results.', false),
    media_resolution: flag('It accepts a resolution for each image.', false),
    strict_tools: flag('It supports strict function schemas.', false),
    text_objects: flag(
      'An embedding model that accepts texts as objects, `{ type: text, text }`, as it accepts images.',
      false,
    ),
    search_unit: choice('query: the provider charges web search by query.', 'query'),
    subjects: flag('false: it accepts no subjects; their images are sent as its images.', true),
    vertex: flag('It accepts fields that only Vertex AI supports.', false),
  },
  examples: [{ formats: ['openai-responses'] }, { thinking: false }],
}
