/** Fits a prompt to a target: names its media types, takes documents apart, leaves out hosted tools
 *  that it cannot run, offers functions in place of free-text tools, and converts names. */
import { fault } from '../formats/faults.ts'
import type { TargetCodec } from '../formats/hub/codec.ts'
import { checkCalls, checkChoice, withoutRepeatedTools } from '../formats/hub/fit/calls.ts'
import {
  fitContent,
  fitMediaKinds,
  withoutEmptyMedia,
  withoutResultMedia,
  withoutSystemMedia,
} from '../formats/hub/fit/content.ts'
import { fitSettings } from '../formats/hub/fit/settings.ts'
import { fitThinking } from '../formats/hub/fit/thinking.ts'
import { restoreFreeCalls, withFunctionsForFreeTools } from '../formats/hub/free-tools.ts'
import { withoutUnsupportedTools } from '../formats/hub/offered-tools.ts'
import type { Prompt } from '../formats/hub/prompt.ts'
import { renameTools, restoreToolNames } from '../formats/hub/tool-names.ts'
import { isSilent } from '../formats/hub/turn-order.ts'
import type { Goal } from './translation-context.ts'

interface FittedPrompt {
  readonly prompt: Prompt
  /** The target's codec, with the client's names of tools in its answers. */
  readonly codec: TargetCodec
}

export const fitPrompt = (wholePrompt: Prompt, goal: Goal): FittedPrompt => {
  const { codec, facts: target, isSameFormat, dropped } = goal
  const { tools: support } = codec
  const nestedPrompt = fitContent(wholePrompt, support?.format)
  const placedPrompt = codec.takesSystemMedia ? nestedPrompt : withoutSystemMedia(nestedPrompt)
  const contentPrompt =
    target.traits.tool_media === false ? withoutResultMedia(placedPrompt) : placedPrompt
  if (!support) return { prompt: contentPrompt, codec }
  const prompt = isSameFormat
    ? fitMediaKinds(contentPrompt, target.traits.media)
    : fitValues(contentPrompt, support.format, goal)
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

/** Values that the client's own provider may take and the target's refuses. */
const fitValues = (prompt: Prompt, format: string, goal: Goal): Prompt => {
  const { codec, facts: target, dropped } = goal
  const { thinking, previous, settings } = prompt
  const media = fitMediaKinds(withoutEmptyMedia(prompt, dropped), target.traits.media)
  const fitted = withoutRepeatedTools(media, dropped)
  checkChoice(fitted, dropped.nameOf('choice'))
  const isContinued = previous !== undefined && codec.continuesAnswers === true
  checkCalls(fitted, isContinued)
  if (!isContinued && isSilent(fitted.turns)) {
    const param = dropped.nameOf('turns')
    throw fault('MEMBER_VALUE', [param, 'there is no message with content'], { param })
  }
  return {
    ...fitted,
    settings: fitSettings(settings, { format, tiers: codec.tiers }, dropped),
    ...(thinking && { thinking: fitThinking(thinking, target, dropped) }),
  }
}
