/** Phrases that ask a model to disregard its instructions or to reveal them. A heuristic: it finds
 *  the usual wording in English and Chinese, and no other. */
import type { Finder, Match } from './finder.ts'

const LONGEST = 120
const PHRASES = new RegExp(
  [
    String.raw`\b(?:ignore|disregard|forget|override)\s{1,8}(?:(?:all|any|of|the|your|my|these|those)\s{1,8}){0,3}(?:previous|prior|above|earlier|preceding|system|original)\s{1,8}(?:instructions?|prompts?|rules?|messages?|directions?|guidelines?)`,
    String.raw`\b(?:reveal|show|print|repeat|output|leak)\s{1,8}(?:me\s{1,8})?(?:your|the)\s{1,8}(?:system|hidden|initial|original|secret)\s{1,8}(?:prompts?|instructions?|messages?|rules?)`,
    String.raw`\byou\s{1,8}are\s{1,8}now\s{1,8}(?:in\s{1,8})?(?:DAN|developer\s{1,8}mode|jailbroken|unrestricted)`,
    String.raw`\bdo\s{1,8}anything\s{1,8}now\b`,
    '忽略(?:所有|全部)?(?:之前|以上|上面|先前)的?(?:所有|全部)?(?:指令|指示|提示|规则|要求)',
    '(?:输出|显示|告诉我|泄露)你?的?(?:系统|初始|隐藏)(?:提示词?|指令)',
  ].join('|'),
  'gi',
)
export const injection: Finder = {
  label: 'INJECTION',
  find: (text): Match[] =>
    [...text.matchAll(PHRASES)].map(({ 0: phrase, index }) => ({
      start: index,
      end: index + phrase.length,
    })),
  openFrom: text => Math.max(0, text.length - LONGEST + 1),
}
