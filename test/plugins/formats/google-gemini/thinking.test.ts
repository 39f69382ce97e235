/** Thinking settings for each family of Gemini models. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Prompt } from '../../../../plugins/formats/hub/prompt.ts'
import { encodeRequest, prompt, text, user } from './prompt-builders.ts'

type Traits = { readonly [key: string]: Json }
const BUDGET: Traits = { thinking: 'budget' }
const LEVEL: Traits = { thinking: 'level' }

/** Returns the `thinkingConfig` of the encoded request and its dropped fields. `limit`: the maximum
 *  output in tokens. */
const encodeThinking = (thinking: Prompt['thinking'], traits: Traits = {}, limit?: number) => {
  const settings = limit === undefined ? {} : { limit }
  const input = prompt([user(text('x'))], { ...(thinking && { thinking }), settings })
  const { body, dropped } = encodeRequest(input, traits)
  const config = body.generationConfig as { thinkingConfig?: Json } | undefined
  return [config?.thinkingConfig, dropped]
}

t.test('Gemini encoder: writes thinking as a budget or a level, never both (edge 27)', t => {
  const efforts: readonly [string, number, string][] = [
    ['none', 0, 'MINIMAL'],
    ['minimal', 1024, 'MINIMAL'],
    ['low', 1024, 'LOW'],
    ['medium', 8192, 'MEDIUM'],
    ['high', 24576, 'HIGH'],
    ['xhigh', 24576, 'HIGH'],
    ['max', 24576, 'HIGH'],
  ]
  for (const [effort, thinkingBudget, thinkingLevel] of efforts) {
    const thinking = { mode: 'effort', effort } as const
    t.same(encodeThinking(thinking, BUDGET), [{ thinkingBudget }, []], effort)
    t.same(encodeThinking(thinking, LEVEL), [{ thinkingLevel }, []], effort)
  }
  for (const [budget, thinkingLevel] of [
    [1024, 'LOW'],
    [8192, 'MEDIUM'],
    [8193, 'HIGH'],
  ] as const) {
    const thinking = { mode: 'budget', budget } as const
    t.same(encodeThinking(thinking, LEVEL), [{ thinkingLevel }, []], `${budget} as a level`)
    t.same(encodeThinking(thinking, BUDGET), [{ thinkingBudget: budget }, []], `${budget} tokens`)
  }
  const highest = { ...LEVEL, thinking_levels: ['LOW', 'HIGH', 'XHIGH'] }
  for (const effort of ['xhigh', 'max'])
    t.same(encodeThinking({ mode: 'effort', effort }, highest), [{ thinkingLevel: 'XHIGH' }, []])
  t.same(encodeThinking({ mode: 'off' }, BUDGET), [{ thinkingBudget: 0 }, []])
  t.same(encodeThinking({ mode: 'off' }, LEVEL), [{ thinkingLevel: 'MINIMAL' }, []])
  t.same(encodeThinking({ mode: 'adaptive', show: true }, BUDGET), [
    { thinkingBudget: -1, includeThoughts: true },
    [],
  ])
  t.same(encodeThinking({ mode: 'adaptive', show: true }, LEVEL), [{ includeThoughts: true }, []])
  t.same(
    encodeThinking({ mode: 'effort', effort: 'high' }, BUDGET, 1000),
    [{ thinkingBudget: 800 }, []],
    'the budget leaves room for the answer',
  )
  t.same(
    encodeThinking({ mode: 'effort', effort: 'high' }),
    [undefined, ['thinking']],
    'a model without thinking drops the setting',
  )
  t.same(encodeThinking({ mode: 'off' }), [undefined, []])
  t.end()
})
t.test('Gemini encoder: keeps thinking within the model’s range (edge 27)', t => {
  const limitedBudget = { thinking: 'budget', thinking_least: 128, thinking_most: 32768 }
  t.same(
    encodeThinking({ mode: 'off' }, limitedBudget),
    [{ thinkingBudget: 128 }, ['thinking']],
    'a model that always thinks gets its minimum budget',
  )
  t.same(encodeThinking({ mode: 'effort', effort: 'none' }, limitedBudget), [
    { thinkingBudget: 128 },
    ['thinking'],
  ])
  t.same(encodeThinking({ mode: 'budget', budget: 100_000 }, limitedBudget), [
    { thinkingBudget: 32768 },
    [],
  ])
  t.same(encodeThinking({ mode: 'budget', budget: 5 }, limitedBudget), [
    { thinkingBudget: 128 },
    [],
  ])
  const twoLevels = { thinking: 'level', thinking_levels: ['HIGH', 'LOW'] }
  t.same(
    encodeThinking({ mode: 'off' }, twoLevels),
    [{ thinkingLevel: 'LOW' }, ['thinking']],
    'a model whose lowest level is above MINIMAL thinks nevertheless, and the client is told',
  )
  t.same(encodeThinking({ mode: 'effort', effort: 'medium' }, twoLevels), [
    { thinkingLevel: 'HIGH' },
    [],
  ])
  t.end()
})
