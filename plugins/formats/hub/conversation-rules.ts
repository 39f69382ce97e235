/** A provider's demands on a conversation: `rules:` of an upstream, and traits of its models, which
 *  win. Without a rule the family of the model decides, by its name. */
import { flag, integer, list, oneOf } from '../../../engine/config/shape.ts'
import type { TargetFacts } from './codec.ts'
import type { Prompt, ToolChoice } from './prompt.ts'

/** The rules, for `rules:` and for `traits:`. */
export const RULES = {
  call_ids: integer(
    'Ids of tool calls have exactly this many letters and digits; the gateway converts others.',
    { minimum: 6, maximum: 40, examples: [9] },
  ),
  user_after_results: flag(
    'false: no message may follow the results of tools but one of the assistant; the gateway puts a short one between.',
    { examples: [false] },
  ),
  prefill: flag('false: a request may not end with an assistant message.', { examples: [false] }),
  reasoning: oneOf(
    'Of a target of openai-chat: whether assistant messages of the history must have `reasoning_content`, may have it, or may not. Without this rule: models of OpenAI may not, those of DeepSeek and Kimi must, others may.',
    ['required', 'accepted', 'refused'],
    { examples: ['required'] },
  ),
  signatures: oneOf(
    'required: thoughts (anthropic-messages, openai-responses) or calls (google-gemini) without a signature are refused. none: the provider signs nothing, and gets its thoughts back unchanged. Without this rule: models of Anthropic and OpenAI require them for thoughts, others do not.',
    ['required', 'none'],
    { examples: ['none'] },
  ),
  developer: flag(
    'false: a target of openai-chat has no role `developer`; its messages are sent with the role `system`.',
    { examples: [false] },
  ),
  tool_choices: list(
    'Of a target of openai-chat: the values of `tool_choice` that it takes, if not all; `tool` is a named one. Others become `auto` and are reported; without `none` the request is sent without tools.',
    oneOf('A value of `tool_choice`.', ['auto', 'none', 'required', 'tool'], {
      examples: ['auto'],
    }),
    { minItems: 1, uniqueItems: true, examples: [['auto', 'none']] },
  ),
  structured: flag(
    'false: it supports neither structured output nor strict tools; a JSON schema is requested in the prompt, by a tool at anthropic-messages.',
    { examples: [false] },
  ),
  cache_control: flag(
    'A target of an OpenAI format accepts cache_control beside parts and tools, as OpenRouter does.',
    { examples: [true] },
  ),
  media: list(
    'Kinds of media that it takes, if not all. Documents of text are sent as text; other media are refused by their path.',
    oneOf('A kind of media.', ['image', 'document', 'audio', 'video'], { examples: ['image'] }),
    { uniqueItems: true, examples: [['image']] },
  ),
  tool_media: flag(
    'true: it accepts media in tool results. false: it accepts them in messages of the user only; those of tool results follow there.',
    { examples: [false] },
  ),
  answer_members: flag(
    'false: a target of openai-chat refuses members of messages that only answers of OpenAI have: refusal, annotations, cache_control. The gateway leaves them out; a refusal becomes text.',
    { examples: [false] },
  ),
  custom_tools: flag(
    'false: it has no custom tools; a function with one text stands for each. At openai-chat it has no choice of several tools either; the selected ones are offered alone.',
    {
      examples: [false],
    },
  ),
}

/** gpt-oss is an open model, which other providers serve. */
const OPENAI = /(?:^|\/)(?:gpt-(?!oss)|chatgpt|codex|o\d)/i
const ANTHROPIC = /claude/i
/** Models that refuse a turn with calls without the thoughts before them. */
const DEMANDING = /deepseek|kimi/i

type Rule = Pick<TargetFacts, 'name' | 'traits'>

/** Whether assistant messages of a chat history have thoughts. */
export const reasoningRule = ({ name, traits }: Rule): 'required' | 'accepted' | 'refused' => {
  const rule = traits.reasoning
  if (rule === 'required' || rule === 'accepted' || rule === 'refused') return rule
  if (OPENAI.test(name)) return 'refused'
  return DEMANDING.test(name) ? 'required' : 'accepted'
}
/** Whether thoughts without a signature are refused. */
export const needsSignatures = ({ name, traits }: Rule): boolean =>
  traits.signatures === undefined
    ? ANTHROPIC.test(name) || OPENAI.test(name)
    : traits.signatures === 'required'

// ---------------------------------------------------------------- thinking, at models of Anthropic

/** Whether a call must come. */
export const isForced = (choice: ToolChoice | undefined): boolean =>
  choice?.type === 'required' ||
  choice?.type === 'tool' ||
  (choice?.type === 'some' && choice.mode === 'required')
/** A call that must come excludes thinking, which gives way to it. */
export const forcesTool = ({ choice, tools }: Prompt): boolean =>
  tools.length > 0 && isForced(choice)

/** A turn that called a tool must begin with its thought. A turn of another provider has no thought
 *  that this one can read. `origin`: the format of the provider's payloads. */
export const resumesWithoutThought = ({ turns }: Prompt, origin: string): boolean => {
  const last = turns.findLastIndex(({ role }) => role === 'assistant')
  const hasResult = turns
    .slice(last + 1)
    .some(({ content }) => content.some(({ type }) => type === 'result'))
  if (last < 0 || !hasResult) return false
  const first = turns[last]?.content.find(each => each.type !== 'text' || each.text.trim() !== '')
  return !(first?.type === 'thought' && first.payload?.origin === origin)
}
