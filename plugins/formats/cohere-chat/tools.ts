/** Encodes tools and the tool choice. A choice of some tools offers only these. */
import { fault } from '../faults.ts'
import { type Fields, omitUndefined } from '../fields.ts'
import { dropCache } from '../hub/cache-hint.ts'
import type { DroppedFields } from '../hub/codec.ts'
import type { FunctionTool, Prompt, ToolChoice } from '../hub/prompt.ts'
import { objectSchema } from '../hub/root-schema.ts'

export const writeTools = ({ tools, choice }: Prompt, dropped: DroppedFields): Fields => {
  const functions = tools.map(tool => {
    if (tool.type === 'function') return tool
    throw fault('TOOL_UNSUPPORTED', [tool.type === 'hosted' ? tool.clientName : tool.name])
  })
  const names = chosenNames(choice)
  const offered = names ? functions.filter(({ name }) => names.includes(name)) : functions
  for (const { cache } of offered) dropCache(cache, dropped)
  if (offered.length === 0) {
    if (choice?.type === 'tool' || choice?.type === 'required') dropped.add('choice')
    return {}
  }
  const isStrict = offered.every(({ strict }) => strict === true)
  if (!isStrict && offered.some(({ strict }) => strict)) dropped.add('strict')
  return omitUndefined({
    tools: offered.map(writeFunction),
    tool_choice: choice && CHOICES[modeOf(choice)],
    strict_tools: isStrict || undefined,
  })
}

/** Without a choice of its own, this format leaves it to the model. */
const CHOICES: Readonly<Record<string, string>> = { required: 'REQUIRED', none: 'NONE' }
const modeOf = (choice: ToolChoice): string => {
  if (choice.type === 'tool') return 'required'
  return choice.type === 'some' ? choice.mode : choice.type
}
const chosenNames = (choice: ToolChoice | undefined): readonly string[] | undefined => {
  if (choice?.type === 'tool') return [choice.name]
  return choice?.type === 'some' ? choice.names : undefined
}
const writeFunction = ({ name, description, schema }: FunctionTool): Fields => ({
  type: 'function',
  function: omitUndefined({
    name,
    description,
    // A function without parameters needs the member as well.
    parameters: objectSchema(schema),
  }),
})
