/** Choices of tools at targets that take some of them only: the rule `tool_choices`. */
import type { DroppedFields, TargetFacts } from '../hub/codec.ts'
import { isForced } from '../hub/conversation-rules.ts'
import type { Prompt, ToolChoice } from '../hub/prompt.ts'

type Traits = TargetFacts['traits']

export const takesChoice = (
  choice: ToolChoice | undefined,
  { tool_choices: allowed }: Traits,
): boolean =>
  !choice || !Array.isArray(allowed) || (choice.type !== 'some' && allowed.includes(choice.type))

/** The prompt with a choice that the target takes. */
export const fitChoice = (whole: Prompt, traits: Traits, dropped: DroppedFields): Prompt => {
  const selects = traits.custom_tools !== false && takesChoice(whole.choice, traits)
  const prompt = selects ? whole : withSome(whole)
  const { choice, ...others } = prompt
  if (takesChoice(choice, traits)) return prompt
  if (choice?.type === 'none') return { ...others, tools: [] }
  dropped.add('tool_choice')
  return { ...others, ...(prompt.tools.length > 0 && { choice: { type: 'auto' } }) }
}

/** Offers the selected tools only, for targets whose choices select one tool at most. */
const withSome = (prompt: Prompt): Prompt => {
  const { choice, tools } = prompt
  if (choice?.type !== 'some') return prompt
  const selected = tools.filter(
    tool => !('name' in tool) || tool.type === 'mcp' || choice.names.includes(tool.name),
  )
  if (!selected.some(tool => tool.type === 'function' || tool.type === 'free')) return prompt
  return { ...prompt, tools: selected, choice: { type: isForced(choice) ? 'required' : 'auto' } }
}
