/** Fits a prompt to a target: names its media types, takes documents apart, leaves out hosted tools
 *  that it cannot run, offers functions in place of free-text tools, and converts names. */
import type { TargetCodec } from '../formats/hub/codec.ts'
import { fitContent } from '../formats/hub/fit-content.ts'
import { restoreFreeCalls, withFunctionsForFreeTools } from '../formats/hub/free-tools.ts'
import { withoutUnsupportedTools } from '../formats/hub/offered-tools.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { renameTools, restoreToolNames } from '../formats/hub/tool-names.ts'
import type { Goal } from './translation-context.ts'

interface FittedPrompt {
  readonly prompt: Prompt
  /** The target's codec, with the client's names of tools in its answers. */
  readonly codec: TargetCodec
}

export const fitPrompt = (
  wholePrompt: Prompt,
  { codec, facts: target, isSameFormat, dropped }: Goal,
): FittedPrompt => {
  const { tools: support } = codec
  const prompt = fitContent(wholePrompt, support?.format)
  if (!support) return { prompt, codec }
  if (!isSameFormat)
    for (const tool of prompt.tools)
      if (tool.type === 'function')
        for (const path of tool.native?.settings ?? []) dropped.add(path)
  const supportedPrompt = withoutUnsupportedTools(prompt, support, target, dropped)
  const fittedPrompt = support.takesFreeText?.(target)
    ? supportedPrompt
    : withFunctionsForFreeTools(supportedPrompt)
  if (isSameFormat) return { prompt: fittedPrompt, codec: restoreFreeCalls(codec, prompt.tools) }
  const { prompt: renamedPrompt, clientNames } = renameTools(fittedPrompt, support.names)
  const restored = restoreToolNames(codec, clientNames)
  return { prompt: renamedPrompt, codec: restoreFreeCalls(restored, prompt.tools) }
}
