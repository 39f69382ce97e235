/** `traits:` of a model and of a target: every one that is read in these plugins, and room for those of an operator's own. */
import { spokenFormats } from '../formats/index.ts'

const flag = (description: string, usual: boolean) => ({
  description,
  type: 'boolean',
  // What holds where nothing is said is no example of saying something.
  examples: [!usual],
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

/** Where a plugin of an operator's own finds what it wants to know: nothing of ours ever begins so. */
const OWN = '^x-'

export const TRAITS = {
  description:
    'What formats must know of it to write for it; names that begin with x- are for plugins of your own.',
  type: 'object',
  additionalProperties: false,
  patternProperties: { [OWN]: { description: 'What a plugin of your own reads.', examples: [1] } },
  properties: {
    formats: {
      description: 'The wire formats it speaks, in place of those of its upstream.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: { enum: spokenFormats, description: 'A wire format.', examples: ['openai-chat'] },
      examples: [['openai-responses']],
    },
    output: count('The most it writes, where that is not the same at every target.', 8192),
    images: count('How many images it draws in one call at most.', 1),
    edits: choice(
      'false: it draws from words alone. shown: it changes images that are shown to it, none that it drew before.',
      ...[false, true, 'shown'],
    ),
    thinking: choice(
      'How it is told to think: not at all (false), how hard (adaptive), by tokens (budget) or by a word (level).',
      ...[false, true, 'adaptive', 'budget', 'level'],
    ),
    thinking_least: {
      ...count('The fewest tokens a budget may have; it then thinks always.', 128),
      minimum: 0,
    },
    thinking_most: count('The most tokens a budget may have.', 32_768),
    thinking_levels: {
      description: 'The words it takes, where that is not all four.',
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      items: {
        description: 'A word for how much.',
        enum: ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'],
        examples: ['LOW'],
      },
      examples: [['LOW', 'HIGH']],
    },
    sampling: flag('false: it refuses temperature, top_p and logprobs.', true),
    structured: flag('false: it has no structured output and no strict tools.', true),
    system_turns: flag('It takes system turns between the others.', false),
    prefill: flag('false: its own turn may not be the last of a request.', true),
    signatures: choice('Calls without a signature are refused.', 'required'),
    mixed_tools: flag("It takes its own tools beside the client's functions.", false),
    json_schema: flag('false: it takes schemas in a subset of OpenAPI only.', true),
    tool_media: flag('It takes images in results of tools.', false),
    media_resolution: flag('It takes a level of detail for each image.', false),
    strict_tools: flag('It can be held to the schemas of functions.', false),
    search_unit: choice('A search is paid for by the query.', 'query'),
    vertex: flag('It takes what only the cloud endpoint does.', false),
  },
  examples: [{ formats: ['openai-responses'] }, { thinking: false }],
}
