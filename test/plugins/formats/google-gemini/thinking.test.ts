/** Thinking settings for each family of Gemini models. */
import t from 'tap'
import type { Json } from '../../../../engine/plugin.ts'
import type { Fields } from '../../../../plugins/formats/fields.ts'
import type { Prompt } from '../../../../plugins/formats/hub.ts'
import { encodeRequest, prompt, text, user } from '../../../helpers/gemini-prompt.ts'

t.test('Gemini encoder: writes thinking as a budget or a level, never both (edge 27)', t => {
  const of = (thinking: Prompt['thinking'], thinkingTrait?: string, limit?: number) => {
    const settings = limit === undefined ? {} : { limit }
    const input = prompt([user(text('x'))], { ...(thinking && { thinking }), settings })
    const { body, dropped } = encodeRequest(input, thinkingTrait ? { thinking: thinkingTrait } : {})
    return [
      (body.generationConfig as { thinkingConfig?: Json } | undefined)?.thinkingConfig,
      dropped,
    ]
  }
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
    t.same(of({ mode: 'effort', effort }, 'budget'), [{ thinkingBudget }, []], effort)
    t.same(of({ mode: 'effort', effort }, 'level'), [{ thinkingLevel }, []], effort)
  }
  for (const [budget, thinkingLevel] of [
    [1024, 'LOW'],
    [8192, 'MEDIUM'],
    [8193, 'HIGH'],
  ] as const) {
    t.same(of({ mode: 'budget', budget }, 'level'), [{ thinkingLevel }, []])
    t.same(of({ mode: 'budget', budget }, 'budget'), [{ thinkingBudget: budget }, []])
  }
  t.same(of({ mode: 'off' }, 'budget'), [{ thinkingBudget: 0 }, []])
  t.same(of({ mode: 'off' }, 'level'), [{ thinkingLevel: 'MINIMAL' }, []])
  t.same(of({ mode: 'adaptive', show: true }, 'budget'), [
    { thinkingBudget: -1, includeThoughts: true },
    [],
  ])
  t.same(of({ mode: 'adaptive', show: true }, 'level'), [{ includeThoughts: true }, []])
  t.same(
    of({ mode: 'effort', effort: 'high' }, 'budget', 1000),
    [{ thinkingBudget: 800 }, []],
    'leaves room for the answer',
  )
  t.same(
    of({ mode: 'effort', effort: 'high' }),
    [undefined, ['thinking']],
    'a model without thinking',
  )
  t.same(of({ mode: 'off' }), [undefined, []])
  t.end()
})
t.test('Gemini encoder: keeps thinking within the model’s range (edge 27)', t => {
  const of = (
    thinking: NonNullable<Prompt['thinking']>,
    traits: { readonly [key: string]: Json },
  ) => {
    const { body, dropped } = encodeRequest(prompt([user(text('x'))], { thinking }), traits)
    return [
      (body as never as { generationConfig: Fields }).generationConfig.thinkingConfig,
      dropped,
    ]
  }
  const pro = { thinking: 'budget', thinking_least: 128, thinking_most: 32768 }
  t.same(
    of({ mode: 'off' }, pro),
    [{ thinkingBudget: 128 }, ['thinking']],
    'a model that always thinks',
  )
  t.same(of({ mode: 'effort', effort: 'none' }, pro), [{ thinkingBudget: 128 }, ['thinking']])
  t.same(of({ mode: 'budget', budget: 100_000 }, pro), [{ thinkingBudget: 32768 }, []])
  t.same(of({ mode: 'budget', budget: 5 }, pro), [{ thinkingBudget: 128 }, []])
  const two = { thinking: 'level', thinking_levels: ['HIGH', 'LOW'] }
  t.same(of({ mode: 'off' }, two), [{ thinkingLevel: 'LOW' }, []])
  t.same(of({ mode: 'effort', effort: 'medium' }, two), [{ thinkingLevel: 'HIGH' }, []])
  t.end()
})
