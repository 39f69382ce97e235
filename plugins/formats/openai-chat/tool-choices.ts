/** Choices of tools at targets that take some of them only: the rule `tool_choices`. */
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import { isForced } from '../hub/conversation-rules.ts'
import type { Prompt, ToolChoice } from '../hub/prompt.ts'

type Traits = TargetFacts['traits']

/** A selection of tools counts as what it asks for. */
const nameOf = (choice: ToolChoice): string =>
  choice.type === 'some' ? (isForced(choice) ? 'required' : 'auto') : choice.type
export const takesChoice = (
  choice: ToolChoice | undefined,
  { tool_choices: allowed }: Traits,
): boolean => !choice || !Array.isArray(allowed) || allowed.includes(nameOf(choice))

/** The prompt with a choice that the target takes. */
export const fitChoice = (prompt: Prompt, traits: Traits, dropped: DroppedFields): Prompt => {
  const { choice, ...others } = prompt
  if (takesChoice(choice, traits)) return prompt
  if (choice?.type === 'none') return { ...others, tools: [] }
  dropped.add('tool_choice')
  return { ...others, ...(prompt.tools.length > 0 && { choice: { type: 'auto' } }) }
}
