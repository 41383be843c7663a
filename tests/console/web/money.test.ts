import { describe, expect, test } from 'bun:test'
import {
  addMoney,
  alignedMoney,
  exactMoney,
  isNegative,
  isPositive,
  isZero,
  readAmount,
  shortMoney,
  signedMoney,
} from '@/console/web/format/money.ts'

test('amounts in a column have as many places as the one that has most', () => {
  expect(alignedMoney(['0', '0.005', '0.010000000'], 'USD')).toEqual(['$0.000', '$0.005', '$0.010'])
  expect(alignedMoney(['0', '1000'], 'USD')).toEqual(['$0.00', '$1,000.00'])
  expect(alignedMoney([], 'USD')).toEqual([])
})

describe('exactMoney', () => {
  test.each([
    ['4.999871250', '$4.99987125'],
    ['5.000000000', '$5.00'],
    ['0', '$0.00'],
    ['-0.000021000', '-$0.000021'],
    ['1234567.5', '$1,234,567.50'],
    // More digits than a float has: none may change.
    ['9007199254.740993001', '$9,007,199,254.740993001'],
    ['0.000000000001', '$0.000000000001'],
  ])('says every digit of %s', (amount, shown) => {
    expect(exactMoney(amount, 'USD')).toBe(shown)
  })

  test('knows other currencies', () => {
    expect(exactMoney('5.00', 'EUR')).toBe('€5.00')
  })

  test('does not invent an amount for what is none', () => {
    expect(exactMoney('1e400', 'USD')).toBe('$0.00')
  })
})

describe('shortMoney', () => {
  test.each([
    ['4.999871250', '$4.99'],
    ['0.999999999', '$0.99'],
    ['0.000021700', '$0.000021'],
    ['0.05', '$0.05'],
    ['-4.999', '-$4.99'],
    ['12', '$12.00'],
  ])('never shows more than there is: %s', (amount, shown) => {
    expect(shortMoney(amount, 'USD')).toBe(shown)
  })
})

test('signedMoney always says which way', () => {
  expect(signedMoney('5.00', 'USD')).toBe('+$5.00')
  expect(signedMoney('-0.5', 'USD')).toBe('-$0.50')
  expect(signedMoney('0.000', 'USD')).toBe('$0.00')
})

test('addMoney is exact', () => {
  expect(addMoney(['0.1', '0.2'])).toBe('0.3')
  expect(addMoney(['9007199254.740993001', '0.000000000001'])).toBe('9007199254.740993001001')
  expect(addMoney(['1', '-2.5'])).toBe('-1.5')
  expect(addMoney([])).toBe('0')
})

test('zero, negative and positive amounts are told apart', () => {
  expect([isZero('0.000000000'), isZero('-0.0'), isZero('0.000000001')]).toEqual([true, true, false])
  expect([isNegative('-0.00'), isNegative('-0.01')]).toEqual([false, true])
  expect(['-0.01', '-0.00', '0.000', '0.001'].map(isPositive)).toEqual([false, false, false, true])
})

describe('readAmount', () => {
  test.each([
    ['5', '5'],
    [' 5.00 ', '5.00'],
    ['$12.5', '12.5'],
  ])('reads %p', (text, amount) => {
    expect(readAmount(text)).toBe(amount)
  })

  test.each(['', '5,00', '1e3', '-5', '.5', '5.', '0.0000000001', 'ten'])('refuses %p', text => {
    expect(readAmount(text)).toBeUndefined()
  })
})
